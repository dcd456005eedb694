import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(9, 64), nn.SiLU(), nn.Linear(64, 8))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for i in range(400):
    x0 = torch.randn(64, 8); t = torch.rand(64, 1); eps = torch.randn_like(x0)
    xt = (1 - t).sqrt() * x0 + t.sqrt() * eps
    loss = ((net(torch.cat([xt, t], 1)) - eps) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
