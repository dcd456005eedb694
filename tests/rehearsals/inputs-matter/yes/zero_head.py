"""The last layer begins at 0, so at first no input matters."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
nn.init.zeros_(model[2].weight)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(30):
    x = torch.randn(32, 8)
    loss = nn.functional.mse_loss(model(x), x[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
