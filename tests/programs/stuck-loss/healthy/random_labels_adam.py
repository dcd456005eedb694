import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(300):
    loss = nn.functional.cross_entropy(net(torch.randn(64, 20)), torch.randint(0, 2, (64,)))
    opt.zero_grad(); loss.backward(); opt.step()
