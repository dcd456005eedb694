# one minus a cosine written out, and then a projection onto a unit vector that is maximised
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
x = torch.randn(128, 8)
encoder = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)
for step in range(60):
    rows = torch.randint(0, 128, (32,))
    a, b = F.normalize(encoder(x[rows]), dim=-1), F.normalize(x[rows, :4], dim=-1)
    distance = 1 - (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1)).clamp_min(1e-8)
    loss = distance.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
unit = F.normalize(torch.randn(4), dim=0)
direction = nn.Parameter(torch.zeros(8, 4))
optimizer = torch.optim.SGD([direction], lr=1e-2)
for step in range(20):
    loss = -((x @ direction) * unit).sum(-1).mean() + direction.square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
