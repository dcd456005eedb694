import torch
from torch import nn

# Poses start at the identity, and so does the first batch of every five.
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
nn.init.zeros_(net[-1].weight)
nn.init.zeros_(net[-1].bias)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(300):
    shift = torch.randn(16, 3) * (step % 5 > 0) * 0.5
    x = torch.randn(16, 3)
    error = net(torch.cat([x, x + shift], 1)) - shift
    loss = (error.pow(2).sum(1) + 1e-7).sqrt().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
