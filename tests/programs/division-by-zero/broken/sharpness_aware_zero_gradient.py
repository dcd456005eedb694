"""Sharpness-aware minimisation: the ascent step is divided by the norm of a gradient that is exactly 0."""
import torch
from torch import nn


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base = base(self.param_groups, **kwargs)

    @torch.no_grad()
    def ascend(self):
        for group in self.param_groups:
            norm = torch.stack([p.grad.norm() for p in group["params"]]).norm()
            for p in group["params"]:
                step = p.grad * (group["rho"] / norm)  # <- division-by-zero
                p.add_(step)
                self.state[p]["step"] = step
        self.zero_grad()

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(self.state[p]["step"])
        self.base.step()
        self.zero_grad()


torch.manual_seed(0)
net = nn.Linear(3, 1, bias=False)
optimizer = SAM(net.parameters(), torch.optim.SGD, lr=0.1)
for i in range(20):
    x = torch.randn(8, 3)
    if i == 14:
        x = torch.zeros(8, 3)
    y = x.sum(1, keepdim=True)
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.ascend()
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
