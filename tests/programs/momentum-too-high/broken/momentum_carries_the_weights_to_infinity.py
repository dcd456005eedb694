"""Momentum 0.999 with SGD."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.999)  # <- momentum-too-high
x = torch.randn(256, 10)
y = x[:, :1] - x[:, 1:2] * 0.5
for i in range(300):
    rows = torch.randint(256, (64,))
    loss = nn.functional.mse_loss(net(x[rows]), y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 30 == 0:
        print(i, loss.item())
