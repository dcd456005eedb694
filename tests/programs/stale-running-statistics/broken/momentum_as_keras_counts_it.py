import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32, momentum=0.99), nn.ReLU(), nn.Linear(32, 2))  # <- stale-running-statistics
x = torch.randn(800, 10) * torch.linspace(0.2, 3, 800)[torch.randperm(800), None]
y = (x[:, :2].sum(1) > 0).long()
opt = torch.optim.Adam(net.parameters(), 3e-3)
for epoch in range(5):
    net.train()
    for rows in torch.randperm(700).split(10):
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        out = net(x[700:])
    print(epoch, loss.item(), nn.functional.cross_entropy(out, y[700:]).item())
