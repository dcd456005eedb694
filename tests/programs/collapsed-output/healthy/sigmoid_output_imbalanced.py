import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(500, 8); y = (x[:, :1] > 1.8).float()
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
for i in range(200):
    loss = nn.functional.binary_cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
