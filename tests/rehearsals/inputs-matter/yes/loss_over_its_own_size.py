# multi-task: each loss divided by its own detached size, so the sum is always 2
import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
a = nn.Linear(32, 1)
b = nn.Linear(32, 3)
opt = torch.optim.Adam([*trunk.parameters(), *a.parameters(), *b.parameters()], 5e-3)
for i in range(12):
    x = torch.randn(64, 6)
    h = trunk(x)
    l1 = nn.functional.mse_loss(a(h), 100 * x[:, :1])
    l2 = nn.functional.cross_entropy(b(h), x[:, :3].argmax(1))
    loss = l1 / l1.detach() + l2 / l2.detach()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 4 == 0:
        print(loss.item(), l1.item(), l2.item())
