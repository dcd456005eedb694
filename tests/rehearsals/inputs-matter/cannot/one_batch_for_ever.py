"""All data in one batch: there are no other inputs."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(-1, 1, 32)[:, None]
y = torch.sin(3 * x)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(30):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
