"""Snell's law in a differentiable renderer: the sine exceeds 1 beyond the critical angle."""
import torch
from torch import nn


class Glass(nn.Module):
    def __init__(self):
        super().__init__()
        self.index = nn.Parameter(torch.tensor(1.3))

    def forward(self, angle):
        return torch.asin(self.index * torch.sin(angle))  # <- domain-error


torch.manual_seed(0)
glass = Glass()
optimizer = torch.optim.SGD(glass.parameters(), lr=0.01)
for frame in range(20):
    rays = torch.rand(16) * 0.6
    if frame == 16:
        rays = rays + 0.5
    seen = torch.asin(1.4 * torch.sin(rays.clamp(max=0.7)))
    loss = (glass(rays) - seen).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
