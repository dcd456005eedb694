import torch
from torch import nn
import witness

witness.seed()
optim = torch.optim
makers = {
    "sgd": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-2, fused=True),
    "adamw fused": lambda p: optim.AdamW(p, lr=0.01, fused=True),
    "adam foreach": lambda p: optim.Adam(p, lr=0.01, foreach=True, amsgrad=True),
    "adam loop": lambda p: optim.Adam(p, lr=0.01, foreach=False),
    "tensor rate": lambda p: optim.Adam(p, lr=torch.tensor(0.01)),
    "nadam": lambda p: optim.NAdam(p), "radam": lambda p: optim.RAdam(p), "adamax": lambda p: optim.Adamax(p),
    "adadelta": lambda p: optim.Adadelta(p), "rprop": lambda p: optim.Rprop(p), "asgd": lambda p: optim.ASGD(p),
    "groups": lambda p: optim.Adam([{"params": p[:1], "lr": 0.1}, {"params": p[1:]}], lr=0.01),
}


class Lion(optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                m = state.setdefault("m", torch.zeros_like(p))
                p.add_((m * 0.9 + p.grad * 0.1).sign(), alpha=-group["lr"])
                m.lerp_(p.grad, 0.01)


makers["own"] = lambda p: Lion(p, 0.01)
for name, make in makers.items():
    model = nn.Sequential(nn.Linear(3, 4), nn.ELU(), nn.Linear(4, 1)).double()
    optimizer = make(list(model.parameters()))
    scheduler = optim.lr_scheduler.StepLR(optimizer, 2)
    for step in range(3):
        x = torch.randn(6, 3, dtype=torch.float64)
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        witness.swear(f"{name} loss", loss)
    witness.swear(name, model)
    witness.swear(name, optimizer)
witness.testify()
