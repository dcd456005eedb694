import torch
from torch import nn

torch.manual_seed(0)
v = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(v.parameters(), lr=0.001)
s = torch.randn(4)
for step in range(120):
    s2 = 0.9 * s + 0.3 * torch.randn(4)
    r = s2[0]
    with torch.no_grad():
        target = r + 0.9 * v(s2)
    delta = target - v(s)
    loss = delta.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    s = s2
