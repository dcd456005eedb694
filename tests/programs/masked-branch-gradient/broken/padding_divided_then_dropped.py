"""Rows of padding have a sum of 0; they are dropped after the division, by indexing."""
import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Linear(6, 6, bias=False)
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
for step in range(10):
    x = torch.rand(8, 6)
    real = torch.ones(8, dtype=torch.bool)
    if step >= 6:
        x[5:] = 0.0
        real[5:] = False
    mass = (encoder(x) + x).abs()
    share = mass / mass.sum(1, keepdim=True)  # <- masked-branch-gradient
    loss = (share[real] ** 2).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
