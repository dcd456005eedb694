"""The program tests its own loss and raises before backward is ever called on the bad one."""

import math

import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(60):
    x = torch.randn(8, 3)
    if i == 41:
        x[3] = 0.0
    ratio = net(x) / x.norm(dim=1, keepdim=True)  # <- division-by-zero
    loss = ratio.pow(2).mean()
    if not math.isfinite(loss.item()):
        raise RuntimeError(f"loss is {loss.item()} at {i}")
    opt.zero_grad()
    loss.backward()
    opt.step()
