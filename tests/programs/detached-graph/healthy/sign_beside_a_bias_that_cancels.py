import torch
from torch import nn
from torch.nn import functional as F

# The bias of the last layer cancels in a difference of two scores: its gradient is 0, with or without the sign.
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for step in range(60):
    a, b = torch.randn(32, 5), torch.randn(32, 5)
    difference = (net(a) - net(b)).squeeze(1)
    margin = difference + torch.sign(difference) * 1e-3
    loss = F.softplus(-margin * (a - b)[:, 0].sign()).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
