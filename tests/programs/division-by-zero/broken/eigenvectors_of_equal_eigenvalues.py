"""The gradient of eigh divides by the difference of eigenvalues, which are equal here."""
import torch
from torch import nn


class Whiten(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(size))

    def forward(self, x):
        metric = torch.diag(self.scale)
        values, vectors = torch.linalg.eigh(metric)  # <- division-by-zero
        return x @ vectors * values


torch.manual_seed(0)
net = nn.Sequential(Whiten(4), nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(5):
    x = torch.randn(10, 4)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
