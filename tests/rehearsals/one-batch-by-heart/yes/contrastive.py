"""InfoNCE: its floor is far from 0."""

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-3)
for _ in range(30):
    x = torch.randn(32, 10)
    first, second = (
        nn.functional.normalize(encoder(x + 0.3 * torch.randn_like(x)), dim=1) for _ in range(2)
    )
    loss = nn.functional.cross_entropy(first @ second.t() / 0.5, torch.arange(32))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
