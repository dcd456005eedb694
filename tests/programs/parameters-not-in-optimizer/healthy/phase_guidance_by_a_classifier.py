import copy
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 2))
ema = copy.deepcopy(net).requires_grad_(False)
o = torch.optim.AdamW(net.parameters(), 2e-3)


def data(n):
    y = torch.randint(0, 2, (n,))
    return torch.randn(n, 2) * 0.2 + (y * 2 - 1)[:, None], y


for i in range(80):
    x, _ = data(128)
    t = torch.rand(128, 1)
    e = torch.randn_like(x)
    xt = (1 - t) * x + t * e
    l = F.mse_loss(net(torch.cat([xt, t], 1)), e - x)
    o.zero_grad()
    l.backward()
    o.step()
    with torch.no_grad():
        for p, q in zip(net.parameters(), ema.parameters()):
            q.lerp_(p, 0.05)
clf = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
co = torch.optim.Adam(clf.parameters(), 5e-3)
for i in range(60):
    x, y = data(128)
    t = torch.rand(128, 1)
    xt = (1 - t) * x + t * torch.randn_like(x)
    lc = F.cross_entropy(clf(torch.cat([xt, t], 1)), y)
    co.zero_grad()
    lc.backward()
    co.step()
x = torch.randn(16, 2)
for k in range(10):
    t = torch.full((16, 1), 1 - k / 10)
    xi = x.detach().requires_grad_()
    s = F.log_softmax(clf(torch.cat([xi, t], 1)), 1)[:, 1].sum()
    (gr,) = torch.autograd.grad(s, xi)
    with torch.no_grad():
        x = x - 0.1 * ema(torch.cat([x, t], 1)) + 0.05 * gr
print(l.item(), lc.item(), x.mean().item())
