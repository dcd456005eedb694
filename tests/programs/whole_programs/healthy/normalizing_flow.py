import torch
from torch import nn
from torch.distributions import MultivariateNormal
class Coupling(nn.Module):
    def __init__(self, mask, h=32):
        super().__init__()
        self.register_buffer("mask", mask)
        self.s = nn.Sequential(nn.Linear(2, h), nn.ReLU(), nn.Linear(h, 2), nn.Tanh())
        self.t = nn.Sequential(nn.Linear(2, h), nn.ReLU(), nn.Linear(h, 2))
    def forward(self, x):
        xm = x * self.mask
        s, t = self.s(xm) * (1 - self.mask), self.t(xm) * (1 - self.mask)
        return xm + (1 - self.mask) * (x * s.exp() + t), s.sum(1)
class Flow(nn.Module):
    def __init__(self, n=6):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(torch.tensor([1., 0.]) if i % 2 else torch.tensor([0., 1.])) for i in range(n))
        self.prior = MultivariateNormal(torch.zeros(2), torch.eye(2))
    def log_prob(self, x):
        ld = 0
        for l in self.layers:
            x, d = l(x); ld = ld + d
        return self.prior.log_prob(x) + ld
torch.manual_seed(0)
def moons(n):
    t = torch.rand(n) * 3.14159; k = torch.randint(0, 2, (n,))
    x = torch.stack([torch.cos(t) * (1 - 2 * k) + k, torch.sin(t) * (1 - 2 * k) + .5 * k], 1)
    return x + .05 * torch.randn(n, 2)
flow = Flow(); opt = torch.optim.Adam(flow.parameters(), 1e-3, weight_decay=1e-5)
for i in range(150):
    loss = -flow.log_prob(moons(128)).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    if i % 50 == 0: print(i, round(loss.item(), 3))
