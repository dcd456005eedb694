"""The class follows from one column, by a threshold: that is what the model is to find."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(400, 5)
y = (x[:, 2] > 0).float()
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    for rows in torch.randperm(400).split(40):
        loss = nn.functional.binary_cross_entropy_with_logits(net(x[rows]).squeeze(1), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
