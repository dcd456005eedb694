"""A demonstration: the target is a straight line through one of three columns."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(400, 3)
y = 3 * x[:, :1] - 1
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(4):
    for rows in torch.randperm(400).split(40):
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
