import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(512, 8) * 40
y = (x[:, :1] > 0).float()
flip = torch.rand(512, 1) < 0.05
y[flip] = 1 - y[flip]
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(300):
    i = torch.randint(0, 512, (64,))
    p = torch.sigmoid(net(x[i]))
    loss = -(y[i] * torch.log(p) + (1 - y[i]) * torch.log(1 - p)).mean()  # <- log-of-nonpositive
    opt.zero_grad()
    loss.backward()
    opt.step()
