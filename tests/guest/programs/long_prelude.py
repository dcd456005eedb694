"""Builds its data in forty thousand operations before the first step."""

import gc

import torch
from torch import nn
import witness

witness.seed()
rows, targets = [], []
for _ in range(5000):
    angle = torch.rand(1) * 6.28
    radius = torch.rand(1) + 0.5
    rows.append(torch.cat([radius * torch.cos(angle), radius * torch.sin(angle)]))
    targets.append((radius > 1).float())
x, y = torch.stack(rows), torch.stack(targets)
net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(30):
    part = slice(step * 100, step * 100 + 100)
    loss = nn.functional.binary_cross_entropy_with_logits(net(x[part]), y[part])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
print(gc.isenabled(), gc.get_threshold())
witness.swear("net", net)
witness.swear("optimizer", optimizer)
witness.testify()
