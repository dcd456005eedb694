import torch
from torch import nn

torch.manual_seed(0)
f = nn.Linear(6, 8)
opt = torch.optim.Adam(f.parameters(), 1e-3)
for i in range(6):
    x = torch.randn(8, 6)
    a = nn.functional.normalize(f(x), dim=1)
    b = nn.functional.normalize(f(x + 0.1 * torch.randn_like(x)), dim=1)
    z = torch.cat([a, b])
    s = z @ z.T / 0.1
    s.fill_diagonal_(-float("inf")) if False else None
    s = s.masked_fill(torch.eye(16).bool(), float("-inf"))
    t = torch.cat([torch.arange(8, 16), torch.arange(8)])
    l = nn.functional.cross_entropy(s, t)
    opt.zero_grad()
    l.backward()
    opt.step()
