"""exp(12) fits float32 and not float16."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1)).half()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-7)


def price(x):
    log_price = net(x)
    return torch.exp(log_price)  # <- half-precision-overflow


for step in range(8):
    x = torch.randn(16, 6)
    if step == 5:
        x[11] = 80.0
        with torch.no_grad():
            for p in net.parameters():
                p.abs_()
    loss = (price(x.half() * 0.2).float() - 2).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
