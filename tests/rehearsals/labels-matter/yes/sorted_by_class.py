"""One class per batch."""

import torch
from torch import nn

torch.manual_seed(0)
labels = torch.arange(1024) // 64 % 4
centers = 2 * torch.randn(4, 8)
inputs = centers[labels] + torch.randn(1024, 8)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for start in range(0, 1024, 32):
    loss = nn.functional.cross_entropy(
        model(inputs[start : start + 32]), labels[start : start + 32]
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
