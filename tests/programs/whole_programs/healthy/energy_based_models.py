import torch, torch.nn as nn
torch.manual_seed(0)
data = lambda n: torch.randn(n, 2) * .3 + torch.where(torch.rand(n, 1) < .5, -1.5, 1.5)
E = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 1)); o = torch.optim.Adam(E.parameters(), 2e-3); buf = torch.randn(256, 2)
for it in range(60):
    idx = torch.randint(0, 256, (64,)); x = buf[idx].clone().requires_grad_(True)
    for _ in range(8):
        g, = torch.autograd.grad(E(x).sum(), x); x = (x - .1 * g + .05 * torch.randn_like(x)).detach().requires_grad_(True)
    buf[idx] = x.detach(); ep, en = E(data(64)), E(x.detach()); loss = (ep - en).mean() + .1 * (ep ** 2 + en ** 2).mean(); o.zero_grad(); loss.backward(); o.step()
print("ebm", round(loss.item(), 3))
S = nn.Sequential(nn.Linear(2, 64), nn.SiLU(), nn.Linear(64, 2)); o = torch.optim.Adam(S.parameters(), 3e-3)
for it in range(100):
    x = data(64).requires_grad_(True); s = S(x); tr = sum(torch.autograd.grad(s[:, i].sum(), x, create_graph=True)[0][:, i] for i in range(2)); loss = (tr + .5 * s.pow(2).sum(1)).mean(); o.zero_grad(); loss.backward(); o.step()
print("score", round(loss.item(), 3))
W, b, c = nn.Parameter(torch.randn(8, 12) * .1), nn.Parameter(torch.zeros(12)), nn.Parameter(torch.zeros(8)); o = torch.optim.SGD([W, b, c], lr=.1)
free = lambda v: -(v @ b) - nn.functional.softplus(v @ W.T + c).sum(1)
for it in range(150):
    v = (torch.rand(64, 12) < .1).float(); v[:, :6] = (torch.rand(64, 1) < .5).float()
    with torch.no_grad(): h = torch.bernoulli(torch.sigmoid(v @ W.T + c)); vk = torch.bernoulli(torch.sigmoid(h @ W + b))
    loss = free(v).mean() - free(vk).mean(); o.zero_grad(); loss.backward(); o.step()
print("rbm", round(loss.item(), 3))
