import torch
from torch import nn


class WideAndDeep(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(10, 1)
        self.deep = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        wide = self.wide(x)
        deep = self.deep(x).squeeze(-1)
        return wide + deep  # <- broadcast-in-loss


torch.manual_seed(0)
model = WideAndDeep()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(40):
    x = torch.randn(16, 10)
    y = x.sum(dim=1)
    loss = (model(x) - y).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
