import copy
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 40), nn.SiLU(), nn.Linear(40, 1))
ema = copy.deepcopy(net)
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for step in range(80):
    opt.zero_grad()
    for micro in range(4):
        x = torch.randn(8, 10)
        loss = nn.functional.mse_loss(net(x), x.sin().sum(1, keepdim=True)) / 4
        loss.backward()
    opt.step()
    with torch.no_grad():
        for a, b in zip(ema.parameters(), net.parameters()):
            a.lerp_(b, 0.05)
