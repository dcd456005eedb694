import torch
from torch import nn

torch.manual_seed(0)
f = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
g = nn.Linear(4, 2)
of, og = (torch.optim.RMSprop(f.parameters(), 5e-05), torch.optim.RMSprop(g.parameters(), 5e-05))
for s in range(60):
    r = torch.randn(64, 2) + 2
    lf = f(g(torch.randn(64, 4)).detach()).mean() - f(r).mean()
    of.zero_grad()
    lf.backward()
    of.step()
    for p in f.parameters():
        p.data.clamp_(-0.05, 0.05)
    lg = f(r).mean().detach() - f(g(torch.randn(64, 4))).mean()
    og.zero_grad()
    lg.backward()
    og.step()
