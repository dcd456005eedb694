"""Six periods of a sine: labels that are related to the inputs, and hard to learn from a few batches."""

import torch
from torch import nn

torch.manual_seed(1)
x = torch.rand(320, 1) * 12
y = torch.sin(3 * x)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(5):
    for rows in torch.randperm(320).split(20):
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
