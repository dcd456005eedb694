import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
nn.init.constant_(net[0].bias, -50.0)  # <- dead-units
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for i in range(60):
    x = torch.randn(32, 4)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
