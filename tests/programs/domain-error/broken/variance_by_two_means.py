import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(640, 6)
x[300:332, 2] = 7.3
y = x[:, :1].sin()
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(200):
    b = slice((step * 4) % 608, (step * 4) % 608 + 32)
    xb = x[b]
    mean = xb.mean(0)
    std = torch.sqrt((xb ** 2).mean(0) - mean ** 2)  # <- domain-error
    loss = (net((xb - mean) / (std + 1e-3)) - y[b]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
