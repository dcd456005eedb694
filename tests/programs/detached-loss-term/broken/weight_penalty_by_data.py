import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(300, 8)
y = x[:, :1] * 2
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(80):
    i = torch.randint(0, 300, (32,))
    penalty = sum((p.data.pow(2).sum() for p in net.parameters()))  # <- detached-loss-term
    loss = nn.functional.mse_loss(net(x[i]), y[i]) + 0.001 * penalty
    opt.zero_grad()
    loss.backward()
    opt.step()
