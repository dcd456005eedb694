import torch
from torch import nn


def init(m):
    if isinstance(m, nn.Linear):
        m.weight.data.zero_()  # <- constant-initialisation
        m.bias.data.zero_()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
net.apply(init)
x = torch.randn(200, 10)
y = torch.sin(x.sum(1, keepdim=True))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(150):
    opt.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
