"""Optimal transport by Sinkhorn iterations outside of the log domain: the kernel underflows to 0."""
import torch
from torch import nn


def sinkhorn(cost, regularisation, iterations=5):
    kernel = torch.exp(-cost / regularisation)
    a = torch.full((cost.shape[0],), 1 / cost.shape[0])
    b = torch.full((cost.shape[1],), 1 / cost.shape[1])
    v = torch.ones_like(b)
    for _ in range(iterations):
        u = a / (kernel @ v)  # <- division-by-zero
        v = b / (kernel.T @ u)
    return (u[:, None] * kernel * v[None, :] * cost).sum()


torch.manual_seed(0)
generator = nn.Linear(2, 2)
optimizer = torch.optim.Adam(generator.parameters(), lr=1e-2)
for step in range(12):
    fake = generator(torch.randn(10, 2))
    real = torch.randn(14, 2) + (0.5 if step < 8 else 30.0)
    cost = torch.cdist(fake, real) ** 2
    loss = sinkhorn(cost, regularisation=1.0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
