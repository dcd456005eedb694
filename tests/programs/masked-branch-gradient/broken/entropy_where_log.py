"""The entropy of a mixture of experts: 0 log 0 is replaced by 0, but only in forward."""
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.route = nn.Linear(4, 3)

    def forward(self, x):
        p = torch.softmax(self.route(x), dim=-1)
        h = -torch.where(p > 0, p * torch.log(p), torch.zeros_like(p)).sum(-1)  # <- masked-branch-gradient
        return p, h


torch.manual_seed(0)
gate = Gate()
experts = nn.ModuleList(nn.Linear(4, 1) for _ in range(3))
optimizer = torch.optim.Adam([*gate.parameters(), *experts.parameters()], lr=1e-3)
for step in range(30):
    x = torch.randn(8, 4)
    if step >= 22:
        x[0] *= 1000
    p, h = gate(x)
    y = (torch.cat([e(x) for e in experts], 1) * p).sum(1)
    loss = (y - x[:, 0]).abs().mean() - 0.01 * h.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
