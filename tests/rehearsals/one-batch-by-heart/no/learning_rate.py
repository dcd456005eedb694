"""The wiring is right; the learning rate is not."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1), nn.Tanh())
optimizer = torch.optim.SGD(model.parameters(), lr=300.0)
for _ in range(30):
    x = torch.randn(32, 8)
    loss = nn.functional.mse_loss(model(x), x[:, :1].tanh())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
