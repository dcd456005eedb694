import copy

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
outer = torch.optim.SGD(net.parameters(), lr=0.05)
penalty = nn.Parameter(torch.zeros(()))
rate = torch.optim.SGD([penalty], lr=0.01)
for iteration in range(3):
    task_losses = []
    for task in range(20):
        clone = copy.deepcopy(net)
        inner = torch.optim.SGD(clone.parameters(), lr=0.1)
        x = torch.randn(16, 4)
        inner.zero_grad()
        (clone(x) - x.sum(dim=1, keepdim=True)).pow(2).mean().backward()
        inner.step()
        task_losses.append((net(x) - clone(x).detach()).pow(2).mean() + penalty**2)
    outer.zero_grad()
    rate.zero_grad()
    torch.stack(task_losses).mean().backward()
    outer.step()
    rate.step()
