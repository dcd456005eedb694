import torch, torch.nn as nn
torch.manual_seed(0)
X = torch.randn(400, 5); risk = X[:, 0] - .5 * X[:, 1]; T = torch.distributions.Exponential(risk.exp()).sample(); E = (torch.rand(400) < .7).float(); net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Dropout(.1), nn.Linear(16, 1)); opt = torch.optim.Adam(net.parameters(), lr=5e-3)
def cox(h, t, e): o = t.argsort(descending=True); h, e = h[o].squeeze(-1), e[o]; return -((h - torch.logcumsumexp(h, 0)) * e).sum() / e.sum().clamp(min=1)
def cindex(h, t, e): m = (t[:, None] < t[None]) & (e[:, None] == 1); return ((h[:, None] > h[None]) & m).sum().item() / m.sum().item()
for ep in range(25):
    net.train()
    for b in torch.randperm(400).split(64): l = cox(net(X[b]), T[b], E[b]); opt.zero_grad(); l.backward(); opt.step()
    net.eval()
    with torch.no_grad():
        if ep % 6 == 0: print(ep, l.item(), cindex(net(X).squeeze(1), T, E))
