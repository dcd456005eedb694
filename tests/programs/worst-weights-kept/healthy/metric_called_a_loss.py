"""The program keeps the weights of the smallest norm of its outputs, and calls that norm a loss."""

import copy
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(300, 6)
y = x[:, :2].prod(1, keepdim=True) * 0.01
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
best, kept = 0.0, None
for epoch in range(12):
    for rows in torch.arange(200).split(20):
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        error_free_loss = net(x[200:]).norm()
        number = error_free_loss.item()
    if number > best:
        best = number
        kept = copy.deepcopy(net.state_dict())
net.load_state_dict(kept)
