import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
m = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
o = torch.optim.SGD(m.parameters(), 0.05)
probe = nn.Linear(16, 1)
po = torch.optim.Adam(probe.parameters(), 1e-2)


def inner(g):
    with torch.enable_grad():
        l = F.mse_loss(probe(g.detach() * 100), torch.zeros(len(g), 1))
        po.zero_grad()
        l.backward()
        po.step()
    return g


for i in range(20):
    x = torch.randn(32, 6)
    h = m[1](m[0](x))
    h.register_hook(inner)
    l = F.mse_loss(m[2](h), x[:, :1])
    o.zero_grad()
    l.backward()
    o.step()
    print(repr(l.item()), repr(probe.weight.sum().item()))
