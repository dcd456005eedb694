import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(20, 50), nn.ReLU(), nn.Linear(50, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.02)
for step in range(120):
    x = torch.randn(64, 20)
    y = torch.randn(64)
    loss = (net(x).squeeze(1) - y).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
print(loss.item())
