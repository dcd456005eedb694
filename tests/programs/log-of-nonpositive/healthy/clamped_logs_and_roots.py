import torch
from torch import nn

EPS = 1e-6
torch.manual_seed(0)
net = nn.Linear(4, 3)
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
for step in range(30):
    x = torch.randn(16, 4) * 50
    p = net(x).softmax(1)
    nll = -p.clamp_min(1e-12).log()[torch.arange(16), x[:, :3].argmax(1)].mean()
    z = net(torch.zeros(2, 4)) - net(torch.zeros(2, 4))
    distance = (z.pow(2).sum(1) + EPS).sqrt().mean()
    angle = torch.acos(torch.ones(3, requires_grad=True).mul(net.bias.sum() * 0 + 1).clamp(-1 + EPS, 1 - EPS)).sum()
    loss = nll + distance + 0.01 * angle
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
