import torch
from torch import nn

torch.manual_seed(0)
w = [
    nn.Parameter(torch.randn(16, 1) * 0.3),
    nn.Parameter(torch.zeros(16)),
    nn.Parameter(torch.randn(1, 16) * 0.3),
]


def f(w, x):
    return torch.tanh(x @ w[0].t() + w[1]) @ w[2].t()


opt = torch.optim.Adam(w, 0.001)
for it in range(80):
    total = 0.0
    for task in range(3):
        a = torch.rand(1) * 3
        x = torch.rand(10, 1) * 4
        y = (a * x).sin()
        g = torch.autograd.grad(((f(w, x) - y) ** 2).mean(), w)
        fast = [p - 0.05 * q for p, q in zip(w, g)]
        xq = torch.rand(10, 1) * 4
        total = total + ((f(fast, xq) - (a * xq).sin()) ** 2).mean()
    opt.zero_grad()
    (total / 3).backward()
    opt.step()
