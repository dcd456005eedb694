"""A dataset built tensor by tensor, in more than two hundred thousand operations before the first step."""

import torch
from laps import lap
from torch import nn

torch.manual_seed(0)
rows, targets = [], []
lap()
for _ in range(24000):
    angle = torch.rand(1) * 6.28
    radius = torch.rand(1) + 0.5
    x = radius * torch.cos(angle)
    y = radius * torch.sin(angle)
    noise = torch.randn(2) * 0.01
    rows.append(torch.cat([x, y]) + noise)
    targets.append((radius > 1).long())
x, y = torch.stack(rows), torch.cat(targets)
lap()
model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(32):
    for first in range(0, len(x), 128):
        loss = nn.functional.cross_entropy(model(x[first : first + 128]), y[first : first + 128])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lap()
    print(epoch, loss.item())
