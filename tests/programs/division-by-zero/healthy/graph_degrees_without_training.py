"""Normalised adjacency of a graph with an isolated node: 1 / 0 is replaced afterwards."""

import torch

edges = torch.tensor([[0, 1, 2, 0], [1, 2, 0, 2]])
adjacency = torch.zeros(5, 5)
adjacency[edges[0], edges[1]] = 1.0
degree = adjacency.sum(dim=1)
inverse = degree.pow(-0.5)
inverse[torch.isinf(inverse)] = 0.0
reciprocal = 1 / degree
safe = torch.where(degree > 0, reciprocal, torch.zeros(()))
print(inverse[:, None] * adjacency * inverse)
print(safe @ adjacency)
