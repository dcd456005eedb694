# the optimizer adds the gradient of the prior, the loss shows the whole negative log posterior
import math
import torch
import torch.nn as nn


class SGLD(torch.optim.Optimizer):
    def __init__(self, params, lr, precision):
        super().__init__(params, dict(lr=lr, precision=precision))

    @torch.no_grad()
    def step(self, closure=None):
        for g in self.param_groups:
            for p in g["params"]:
                p.add_(p.grad + g["precision"] * p, alpha=-g["lr"])
                p.add_(torch.randn_like(p), alpha=math.sqrt(2 * g["lr"]))


torch.manual_seed(0)
x = torch.linspace(-2, 2, 300)[:, None]
y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
opt = SGLD(net.parameters(), lr=2e-6, precision=1.0)
for step in range(200):
    i = torch.randint(0, 300, (60,))
    nll = 300 * ((net(x[i]) - y[i]) ** 2 / 0.02).mean()
    prior = sum((p.detach() ** 2).sum() for p in net.parameters()) / 2
    loss = nll + prior
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 80 == 0:
        print(step, loss.item(), prior.item())
