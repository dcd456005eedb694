import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), 3e-3)
for i in range(300):
    n = 8 if i < 150 else 256
    x = torch.randn(n, 4)
    y = x.sum(1, keepdim=True) + 0.5 * torch.randn(n, 1)
    loss = nn.functional.mse_loss(net(x), y, reduction="sum")
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 50 == 0:
        print(i, loss.item(), loss.item() / n)
