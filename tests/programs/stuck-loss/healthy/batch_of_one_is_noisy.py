import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 20), nn.ReLU(), nn.Linear(20, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(600):
    x = torch.randn(1, 5)
    y = (x[:, 0] + 1.5 * torch.randn(1) > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
