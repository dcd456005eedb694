"""A softmax over one output is 1 whatever goes in."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1), nn.Softmax(dim=1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
weights = torch.randn(8, 1)
for _ in range(30):
    x = torch.randn(32, 8)
    loss = nn.functional.mse_loss(model(x), x @ weights)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
