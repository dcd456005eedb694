"""A coupling layer whose scale is a ReLU: it becomes exactly 0, and log|det| is the log of it."""
import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim // 2, 16), nn.Tanh(), nn.Linear(16, dim))

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        shift, scale = self.net(a).chunk(2, dim=1)
        scale = torch.relu(scale + 1.0)
        log_det = scale.log().sum(dim=1)  # <- log-of-nonpositive
        return torch.cat([a, b * scale + shift], dim=1), log_det


torch.manual_seed(0)
flow = nn.ModuleList([Coupling(4) for _ in range(3)])
opt = torch.optim.Adam(flow.parameters(), lr=3e-2)
for it in range(200):
    z = torch.randn(64, 4) * torch.tensor([1.0, 3.0, 0.05, 0.02])
    total = 0
    for layer in flow:
        z, ld = layer(z.flip(1))
        total = total + ld
    nll = 0.5 * z.pow(2).sum(1) - 0.1 * total
    loss = nll.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
