"""A physics-informed network: an oscillator's equation by autograd, minimised by LBFGS at other points in each step."""

import torch
from laps import lap
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.LBFGS(net.parameters(), max_iter=20, line_search_fn="strong_wolfe")
start = torch.zeros(1, 1, requires_grad=True)


def slope_of(value, at):
    return torch.autograd.grad(value.sum(), at, create_graph=True)[0]


def residual(t):
    u = net(t)
    bend = slope_of(slope_of(u, t), t)
    first = net(start)
    return (bend + 4 * u).pow(2).mean() + (first - 1).pow(2).sum() + slope_of(first, start).pow(2).sum()


lap()
for step in range(150):
    t = (4 * torch.rand(64, 1)).requires_grad_()

    def closure():
        optimizer.zero_grad()
        loss = residual(t)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    lap()
    if step % 25 == 0:
        print(step, loss.item())
