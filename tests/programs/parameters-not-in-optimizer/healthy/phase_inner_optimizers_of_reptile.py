import copy
import torch
from torch import nn

torch.manual_seed(0)
meta = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
outer = torch.optim.Adam(meta.parameters(), lr=1e-2)


def task():
    a, b = torch.rand(1) * 2 + 0.5, torch.rand(1) * 3
    def draw():
        x = torch.rand(20, 1) * 4 - 2
        return x, a * torch.sin(x + b)
    return draw


for it in range(40):
    outer.zero_grad()
    total = 0.0
    for _ in range(3):
        draw = task()
        fast = copy.deepcopy(meta)
        inner = torch.optim.SGD(fast.parameters(), lr=0.05)
        for _ in range(3):
            x, y = draw()
            inner.zero_grad()
            nn.functional.mse_loss(fast(x), y).backward()
            inner.step()
        x, y = draw()
        fast.zero_grad()
        loss = nn.functional.mse_loss(fast(x), y)
        loss.backward()
        for p, q in zip(meta.parameters(), fast.parameters()):
            p.grad = q.grad.clone() if p.grad is None else p.grad + q.grad
        total += loss.item() / 3
    outer.step()
    if it % 10 == 0:
        print(it, total)
