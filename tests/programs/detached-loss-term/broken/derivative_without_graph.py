import torch
import torch.nn as nn

torch.manual_seed(0)
u = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(u.parameters(), lr=3e-3)
for it in range(200):
    t = torch.rand(64, 1, requires_grad=True)
    value = u(t)
    du = torch.autograd.grad(value.sum(), t, retain_graph=True)[0]  # <- detached-loss-term
    residual = (du + 2 * value.detach()).pow(2).mean()
    start = (u(torch.zeros(1, 1)) - 1).pow(2).mean()
    loss = residual + start
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(it, loss.item())
