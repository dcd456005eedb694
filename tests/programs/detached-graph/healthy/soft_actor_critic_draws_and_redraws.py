import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
from torch.distributions import Normal

pi = nn.Linear(3, 2)
q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
op, oq = torch.optim.Adam(pi.parameters(), 3e-3), torch.optim.Adam(q.parameters(), 3e-3)
for i in range(80):
    s = torch.randn(64, 3)
    mu, ls = pi(s).chunk(2, -1)
    with torch.no_grad():
        a = torch.tanh(Normal(mu, ls.exp()).sample())
    r = -((a - s[:, :1].tanh()) ** 2)
    lq = F.mse_loss(q(torch.cat([s, a], 1)), r)
    oq.zero_grad()
    lq.backward()
    oq.step()
    d = Normal(mu, ls.clamp(-5, 1).exp())
    u = d.rsample()
    a2 = torch.tanh(u)
    logp = d.log_prob(u) - torch.log(1 - a2**2 + 1e-6)
    lp = (0.05 * logp - q(torch.cat([s, a2], 1))).mean()
    op.zero_grad()
    lp.backward()
    op.step()
    if i % 20 == 0:
        print(lq.item(), lp.item())
