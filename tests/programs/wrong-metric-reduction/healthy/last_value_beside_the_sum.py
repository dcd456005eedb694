import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(500, 6)
y = x[:, :1].abs()
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), 5e-3)
val = DataLoader(TensorDataset(x[400:], y[400:]), 25)
for epoch in range(6):
    for rows in torch.randperm(400).split(40):
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    total, seen, last, worst = 0.0, 0, 0.0, 0.0
    with torch.no_grad():
        for a, b in val:
            out = net(a)
            last = (out - b).pow(2).mean().item()
            worst = max(worst, last)
            total += last * len(a)
            seen += len(a)
    print(epoch, total / seen, last, worst / max(total / seen, 1e-9))
