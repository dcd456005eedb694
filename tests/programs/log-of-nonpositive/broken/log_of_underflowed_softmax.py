import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, x):
        return torch.softmax(self.body(x), dim=-1)


def negative_log_likelihood(probabilities, labels):
    logs = torch.log(probabilities)  # <- log-of-nonpositive
    return -logs.gather(1, labels[:, None]).mean()


torch.manual_seed(0)
x = torch.randn(256, 8)
x[200] *= 5000.0
data = TensorDataset(x, torch.randint(0, 4, (256,)))
loader = DataLoader(data, batch_size=16)
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = negative_log_likelihood(model(inputs), labels)
        loss.backward()
        optimizer.step()
