import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(5, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(10):
    x = torch.randn(10, 5)
    out = net(x)
    mse = ((out - x[:, :1]) ** 2).mean().item()
    loss = torch.tensor(mse, requires_grad=True)  # <- detached-graph
    opt.zero_grad()
    loss.backward()
    opt.step()
