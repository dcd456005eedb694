import copy
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
ema = copy.deepcopy(net).requires_grad_(False).eval()
opt = torch.optim.Adam(net.parameters(), 5e-3)
x = torch.randn(300, 6)
y = x[:, :1] * x[:, 1:2]
for epoch in range(8):
    for rows in torch.randperm(240).split(24):
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for a, b in zip(ema.parameters(), net.parameters()):
                a.lerp_(b, 0.05)
    with torch.no_grad():
        val_loss = nn.functional.mse_loss(ema(x[240:]), y[240:]).item()
    print(epoch, loss.item(), val_loss)
