"""One batch in the middle of training has its targets in another unit, ten thousand times larger."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.02)
w = torch.randn(6, 1)


def source(n):
    for i in range(n):
        x = torch.randn(32, 6)
        y = x @ w
        if i == 90:
            y = y * 1e4
        yield x, y


for i, (x, y) in enumerate(source(200)):
    loss = nn.functional.mse_loss(net(x), y)  # <- loss-spike
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
