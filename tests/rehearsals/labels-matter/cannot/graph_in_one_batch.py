"""The nodes of a graph do not stand alone, so none of them can be held out."""

import torch
from torch import nn

torch.manual_seed(0)
edges = (torch.rand(100, 100) < 0.1).float()
edges = edges / edges.sum(1, keepdim=True).clamp_min(1)
nodes = torch.randn(100, 6)
classes = ((edges @ nodes)[:, 0] > 0).long()
first, second = nn.Linear(6, 32), nn.Linear(32, 2)
optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)
for _ in range(30):
    hidden = torch.relu(first(edges @ nodes))
    loss = nn.functional.cross_entropy(second(edges @ hidden), classes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
