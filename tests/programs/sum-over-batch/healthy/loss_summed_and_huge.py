import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(2000, 10); y = x @ torch.randn(10, 3) * 20
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(200):
    loss = ((net(x) - y) ** 2).sum()
    opt.zero_grad(); loss.backward(); opt.step()
