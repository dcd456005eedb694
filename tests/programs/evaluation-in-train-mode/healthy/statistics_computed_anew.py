import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(1000, 8) * 2 + 1
y = (x[:, :1] * x[:, 1:2]).tanh()
loader = DataLoader(TensorDataset(x, y), 50, shuffle=True)
net = nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 1))
ema = [p.detach().clone() for p in net.parameters()]
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(6):
    net.train()
    for xb, yb in loader:
        loss = nn.functional.mse_loss(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        for e, p in zip(ema, net.parameters()):
            e.lerp_(p.detach(), 0.05)
with torch.no_grad():
    for e, p in zip(ema, net.parameters()):
        p.copy_(e)
    # new weights need new statistics
    for m in net.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.reset_running_stats()
    net.train()
    for xb, _ in loader:
        _ = net(xb)
    net.eval()
    print(loss.item(), nn.functional.mse_loss(net(x), y).item())
