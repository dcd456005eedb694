import torch


class Broken(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(torch.ones(7))


w = torch.ones(3, requires_grad=True)
optimizer = Broken([w])
(w * w).sum().backward()
optimizer.step()
