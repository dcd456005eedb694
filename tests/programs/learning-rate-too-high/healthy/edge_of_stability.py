import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(100, 5); y = torch.sin(2 * x[:, :1])
net = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.4)
for i in range(600):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
