"""The rate is set by hand, for the first step to 30 by a typing error in the warm-up."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
x = torch.randn(256, 6)
y = x.abs().sum(1, keepdim=True)
for i in range(200):
    for group in opt.param_groups:
        group["lr"] = 30.0 if i == 0 else 0.01  # <- learning-rate-too-high
    rows = torch.randint(256, (32,))
    loss = nn.functional.mse_loss(net(x[rows]), y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 40 == 0:
        print(i, loss.item())
