import torch
from torch import nn


class MasterSGD(torch.optim.Optimizer):
    """SGD that keeps float32 copies of bfloat16 parameters."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["master"] = p.detach().float()
                state["master"].add_(p.grad.float(), alpha=-group["lr"])
                p.copy_(state["master"])


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)).bfloat16()
optimizer = MasterSGD(net.parameters(), lr=1e-3)
x = torch.randn(256, 8)
y = x[:, :1].tanh()
for step in range(60):
    loss = nn.functional.mse_loss(net(x.bfloat16()).float(), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
