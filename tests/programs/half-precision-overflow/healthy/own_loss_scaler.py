"""A loss scale kept by hand: steps with infinite gradients are dropped, and the scale is halved."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(8, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
scale = 2.0**20
for step in range(25):
    x = torch.randn(16, 8)
    with torch.autocast("cpu", dtype=torch.float16):
        out = net(x)
    loss = (out.float() - 1).pow(2).mean()
    optimizer.zero_grad()
    (loss * scale).backward()
    if not all(p.grad.isfinite().all() for p in net.parameters()):
        scale /= 2
        continue
    for p in net.parameters():
        p.grad /= scale
    optimizer.step()
print(scale)
