import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(300, 8)
y = (x[:, 0] > 0).float()
net = nn.Linear(8, 1)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(80):
    i = torch.randint(0, 300, (32,))
    o = net(x[i]).squeeze(1)
    soft = nn.functional.softplus(-(2 * y[i] - 1) * o).mean()
    hard = ((o > 0).float() != y[i]).float().mean()
    loss = soft + (hard - soft).detach()
    opt.zero_grad()
    loss.backward()
    opt.step()
