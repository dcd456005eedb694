import torch
from torch import nn


class TinyAdam(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999)):
        super().__init__(params, {"lr": lr, "betas": betas})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["m"], state["v"], state["t"] = torch.zeros_like(p), torch.zeros_like(p), 0
                state["t"] += 1
                state["m"].mul_(b1).add_(p.grad, alpha=1 - b1)
                state["v"].mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
                m = state["m"] / (1 - b1 ** state["t"])
                v = state["v"] / (1 - b2 ** state["t"])
                p.sub_(group["lr"] * m / v.sqrt())  # <- division-by-zero


torch.manual_seed(0)
embed, head = nn.Embedding(12, 4), nn.Linear(4, 2)
optimizer = TinyAdam([*embed.parameters(), *head.parameters()])
for step in range(5):
    token = torch.randint(0, 10, (8,))
    loss = nn.functional.cross_entropy(head(embed(token)), token % 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
