import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
x = torch.randn(128, 6); y = (x[:, 0] > 0).long()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for phase in range(2):
    if phase == 1:
        y = 1 - y
    for e in range(100):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
