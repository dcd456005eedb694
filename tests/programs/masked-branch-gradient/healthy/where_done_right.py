import torch
from torch import nn


class SafeOps(nn.Module):
    def forward(self, z):
        positive = z > 0
        logs = torch.where(positive, torch.log(torch.where(positive, z, torch.ones_like(z))), 0.0)
        square = (z * z).sum(1)
        norm = torch.where(square > 0, square, 1.0).sqrt() * (square > 0)
        ratio = z.sum(1) / torch.where(square > 0, square, 1.0)
        small = z.abs() < 1e-4
        sinc = torch.where(small, 1 - z**2 / 6, torch.sin(z) / torch.where(small, 1.0, z))
        return logs.sum(1) + norm + ratio.tanh() + sinc.sum(1)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 4, bias=False), nn.ReLU(), SafeOps())
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for step in range(12):
    x = torch.randn(8, 4)
    x[3] = 0
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
