import torch
from torch import nn


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, beta=0.9):
        super().__init__(params, {"lr": lr, "beta": beta})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                trust = torch.where(p.grad.norm() > 0, p.norm() / p.grad.norm(), torch.ones(()))
                p.sub_(group["lr"] * trust.clamp(max=10) * m.lerp(p.grad, 0.1).sign())
                m.lerp_(p.grad, 1 - group["beta"])
        return loss


torch.manual_seed(0)
net = nn.Sequential(nn.Embedding(6, 3), nn.Linear(3, 2))
unused = nn.Parameter(torch.zeros(2))
optimizer = Lion([*net.parameters(), unused], lr=1e-3)
for step in range(8):
    token = torch.randint(0, 4, (8,))

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(token) + 0 * unused, token % 2)
        loss.backward()
        return loss

    optimizer.step(closure)
