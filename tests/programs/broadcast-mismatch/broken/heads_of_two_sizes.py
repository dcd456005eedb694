"""Outputs of several heads are stacked inside the model, and one head is wider."""

import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList([nn.Linear(10, 4), nn.Linear(10, 4), nn.Linear(10, 5)])

    def forward(self, x):
        return torch.stack([head(x) for head in self.heads], 1)  # <- broadcast-mismatch


model = Heads()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.randn(6, 10)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
