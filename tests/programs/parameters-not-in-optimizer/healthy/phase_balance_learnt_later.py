"""An auxiliary loss weight is learnt from step 30 on, with an optimizer of its own, in turn with the main one."""
import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Linear(6, 16)
a, b = nn.Linear(16, 1), nn.Linear(16, 1)
log_var = nn.Parameter(torch.zeros(2))
main = torch.optim.Adam([*trunk.parameters(), *a.parameters(), *b.parameters()], lr=5e-3)
balance = None
for step in range(120):
    x = torch.randn(64, 6)
    h = torch.relu(trunk(x))
    la = (a(h) - x[:, :1]).pow(2).mean()
    lb = (b(h) - 3 * x[:, 1:2] * x[:, 2:3]).pow(2).mean()
    if step == 30:
        balance = torch.optim.Adam([log_var], lr=1e-2)
    if balance is None:
        loss = la + lb
    else:
        loss = (torch.stack([la, lb]) * torch.exp(-log_var) + log_var).sum()
        balance.zero_grad()
    main.zero_grad()
    loss.backward()
    main.step()
    if balance is not None:
        balance.step()
    if step % 30 == 29:
        print(step, la.item(), lb.item())
