import torch
from torch import nn

torch.manual_seed(32)
prices = [12.5, 30.0, 7.25, 0.0, 18.0, 22.0, 9.5, 14.0]
features = torch.randn(8, 6)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(3):
    for row, price in zip(features, prices):
        relative = net(row) / price - 1  # <- division-by-zero
        loss = relative.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
