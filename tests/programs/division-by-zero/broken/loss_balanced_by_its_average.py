"""Two losses are balanced by their running averages, and the average starts at 0."""
import torch
from torch import nn


class Balancer:
    def __init__(self, names, momentum=0.9):
        self.average = {name: torch.zeros(()) for name in names}
        self.momentum = momentum

    def __call__(self, losses):
        total = 0.0
        for name, loss in losses.items():
            total = total + loss / self.average[name]  # <- division-by-zero
            self.average[name] = self.momentum * self.average[name] + (1 - self.momentum) * loss.detach()
        return total


torch.manual_seed(0)
trunk, depth, normal = nn.Linear(5, 8), nn.Linear(8, 1), nn.Linear(8, 3)
modules = nn.ModuleList([trunk, depth, normal])
balance = Balancer(["depth", "normal"])
optimizer = torch.optim.Adam(modules.parameters(), lr=1e-3)
for step in range(4):
    h = torch.relu(trunk(torch.randn(16, 5)))
    loss = balance({"depth": depth(h).pow(2).mean(), "normal": (normal(h).norm(dim=1) - 1).pow(2).mean()})
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
