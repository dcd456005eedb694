# the targets are far from 0, so the first loss is far above that of a guess, with any initial weights
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 4)
y = 1000 + x[:, :1]
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(26):
    rows = torch.randint(0, 256, (32,))
    loss = nn.functional.mse_loss(net(x[rows]), y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
