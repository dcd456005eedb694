import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import witness

witness.seed()
data = TensorDataset(torch.randn(64, 6), torch.randint(0, 3, (64,)))
encoder = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 8))
decoder = nn.Linear(8, 6)
late = torch.optim.SGD(decoder.parameters(), lr=1e-2, momentum=0.5)  # made early, used in the last phase


def train(optimizer, loss_of, epochs):
    for _ in range(epochs):
        for batch in DataLoader(data, batch_size=16, shuffle=True):
            optimizer.zero_grad()
            loss = loss_of(*batch)
            loss.backward()
            optimizer.step()
            witness.swear("loss", loss)


first = torch.optim.Adam(encoder.parameters(), lr=1e-3)
train(first, lambda x, _: (decoder(encoder(x)) - x).square().mean(), 10)

head = nn.Linear(8, 3)
second = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=1e-3)
with torch.no_grad():
    witness.swear("before", head(encoder(data.tensors[0])))
train(second, lambda x, y: nn.functional.cross_entropy(head(encoder(x)), y), 10)

for seed in range(3):  # optimizers of one kind
    student = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3))
    third = torch.optim.RMSprop(student.parameters(), lr=1e-3)
    train(third, lambda x, y: (student(x) - head(encoder(x)).detach()).square().mean(), 2)
    witness.swear("student", student)

for parameter in encoder.parameters():
    parameter.requires_grad_(False)
train(late, lambda x, _: (decoder(encoder(x)) - x).abs().mean(), 8)
for name, value in (("encoder", encoder), ("decoder", decoder), ("head", head)):
    witness.swear(name, value)
witness.swear("optimizers", [first.state_dict(), second.state_dict(), late.state_dict()])
witness.testify()
