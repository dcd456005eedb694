"""Distances start at inf and shrink: a Bellman-Ford layer over learned edge costs."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
cost = nn.Linear(3, 1)
optimizer = torch.optim.SGD(cost.parameters(), lr=1e-2)
edges = torch.tensor([[0, 1], [1, 2], [0, 2], [2, 3]])
for step in range(10):
    w = F.softplus(cost(torch.randn(4, 3))).squeeze(1)
    nodes = [torch.tensor(0.0 if n == 0 else float("inf")) for n in range(5)]
    for _ in range(4):
        for (a, b), c in zip(edges.tolist(), w):
            nodes[b] = torch.minimum(nodes[b], nodes[a] + c)
    distance = torch.stack(nodes)
    known = torch.isfinite(distance)
    loss = (distance[known] - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(distance)
