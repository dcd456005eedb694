import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
x = torch.randn(64, 4)
for step in range(10):
    mask = torch.ones(64, 1, device="mps")  # <- missing-device
    loss = ((net(x) - x[:, :1]) * mask).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
