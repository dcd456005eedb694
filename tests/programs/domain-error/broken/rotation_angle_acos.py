"""Geodesic distance between rotations: the cosine is 1 + 1e-7 for two equal ones."""
import torch
from torch import nn


def rotation(theta):
    c, s = torch.cos(theta), torch.sin(theta)
    return torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)


def geodesic(a, b):
    m = a @ b.transpose(1, 2)
    cosine = (m[:, 0, 0] + m[:, 1, 1]) / 2
    return torch.acos(cosine)  # <- domain-error


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(50):
    angle = torch.rand(16, 1) * 2
    x = torch.cat([angle.cos(), angle.sin()], 1)
    predicted = rotation(net(x).squeeze(1))
    true = rotation(angle.squeeze(1))
    if it == 33:
        true[4] = predicted[4].detach()
    loss = geodesic(predicted, true).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
