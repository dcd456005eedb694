"""Manual mixed precision: half weights, float32 master copy, fixed loss scale far too large."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)).half()
master = [p.detach().clone().float().requires_grad_() for p in net.parameters()]
opt = torch.optim.SGD(master, lr=1e-2)
SCALE = 2.0 ** 20

for it in range(20):
    x = torch.randn(64, 8).half()
    y = x.float().sum(1, keepdim=True)
    pred = net(x)
    loss = (pred.float() - y).pow(2).mean()  # <- half-precision-overflow
    net.zero_grad()
    (loss * SCALE).backward()
    for p, m in zip(net.parameters(), master):
        m.grad = p.grad.float() / SCALE
    opt.step()
    with torch.no_grad():
        for p, m in zip(net.parameters(), master):
            p.copy_(m)
