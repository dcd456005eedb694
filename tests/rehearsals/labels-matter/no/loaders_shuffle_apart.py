"""Two loaders, each of which shuffles by itself; regression."""

import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(1)
rows = torch.randn(1024, 6)
values = rows @ torch.randn(6, 1) + 0.1 * torch.randn(1024, 1)
net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for x, y in zip(
    DataLoader(rows, 32, shuffle=True), DataLoader(values, 32, shuffle=True), strict=True
):
    error = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    error.backward()
    optimizer.step()
