import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def make_data(n):
    x = torch.randn(n, 1, 10, 10)
    x[: n // 2, :, :5] += 1.5
    y = torch.cat([torch.zeros(n // 2), torch.ones(n - n // 2)]).long()
    return TensorDataset(x, y)


class ConvAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 4, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(64, 10))
        self.up = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 100))

    def forward(self, x):
        return self.up(self.down(x)).view_as(x)


data = make_data(400)
ae = ConvAE()
opt = torch.optim.AdamW(ae.parameters(), lr=2e-3)
for epoch in range(5):
    total = 0
    for x, _ in DataLoader(data, 40, shuffle=True):
        loss = ((ae(x) - x) ** 2).mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        total += loss.item() / 10
    print("ae", epoch, total)

with torch.no_grad():
    codes = torch.cat([ae.down(x) for x, _ in DataLoader(data, 100)])
labels = data.tensors[1]
classifier = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
opt2 = torch.optim.AdamW(classifier.parameters(), lr=1e-2)
for epoch in range(6):
    for z, y in DataLoader(TensorDataset(codes, labels), 40, shuffle=True):
        loss = nn.functional.cross_entropy(classifier(z), y)
        opt2.zero_grad(set_to_none=True)
        loss.backward()
        opt2.step()
    print("clf", epoch, loss.item())
