"""Geodesic rotation loss with acos of a trace that exceeds 1 by rounding."""
import torch
from torch import nn


def six_d(x):
    a, b = x[:, :3], x[:, 3:]
    a = nn.functional.normalize(a, dim=1)
    b = nn.functional.normalize(b - (a * b).sum(1, keepdim=True) * a, dim=1)
    return torch.stack([a, b, torch.cross(a, b, dim=1)], 1)


def geodesic(R, S):
    cos = ((R @ S.transpose(1, 2)).diagonal(dim1=1, dim2=2).sum(1) - 1) / 2
    return torch.acos(cos).mean()  # <- domain-error


torch.manual_seed(0)
net = nn.Linear(9, 6)
with torch.no_grad():
    net.weight.zero_(); net.bias.zero_()
    net.weight[:, :6] = torch.eye(6)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(100):
    R = six_d(torch.randn(64, 6))
    noisy = R.flatten(1) + (0.2 if i < 20 else 0.0) * torch.randn(64, 9)
    loss = geodesic(six_d(net(noisy)), R)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
