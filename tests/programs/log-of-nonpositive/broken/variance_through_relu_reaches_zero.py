"""Heteroscedastic regression: the head gives a variance through ReLU."""
import math
import torch
from torch import nn


class Heteroscedastic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(1, 32), nn.Tanh())
        self.mu = nn.Linear(32, 1)
        self.var = nn.Sequential(nn.Linear(32, 1), nn.ReLU())

    def forward(self, x):
        h = self.trunk(x)
        return self.mu(h), self.var(h)


class NLL(nn.Module):
    def forward(self, mu, var, y):
        return 0.5 * (torch.log(2 * math.pi * var) + (y - mu) ** 2 / var).mean()  # <- log-of-nonpositive


torch.manual_seed(2)
x = torch.linspace(-2, 2, 256)[:, None]
y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)
net, crit = Heteroscedastic(), NLL()
with torch.no_grad():
    net.var[0].bias.fill_(1.0)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for it in range(400):
    mu, var = net(x)
    loss = crit(mu, var, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(it, loss.item(), var.min().item())
