"""A physics-informed network: the residual of an ODE by autograd, minimised by LBFGS with a closure."""

import torch
from laps import lap
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
t = torch.linspace(0, 2, 64)[:, None].requires_grad_()
optimizer = torch.optim.LBFGS(net.parameters(), max_iter=20, line_search_fn="strong_wolfe")


def residual():
    u = net(t)
    slope = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    return (slope + u).pow(2).mean() + (net(torch.zeros(1, 1)) - 1).pow(2).mean()


def closure():
    optimizer.zero_grad()
    loss = residual()
    loss.backward()
    return loss


lap()
for step in range(60):
    loss = optimizer.step(closure)
    lap()
    if step % 10 == 0:
        print(step, loss.item())
