import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
d_opt, g_opt = (torch.optim.Adam(D.parameters(), 0.0002), torch.optim.Adam(G.parameters(), 0.0002))
for i in range(60):
    real = (torch.randn(32, 2) + 3).requires_grad_()
    d_real = D(real)
    loss_d = F.softplus(D(G(torch.randn(32, 4)).detach())).mean() + F.softplus(-d_real).mean()
    (grad,) = torch.autograd.grad(outputs=d_real.sum(), inputs=real, retain_graph=True)  # <- detached-loss-term
    loss_d += 5.0 * grad.square().sum(1).mean()
    d_opt.zero_grad()
    loss_d.backward()
    d_opt.step()
    loss_g = F.softplus(-D(G(torch.randn(32, 4)))).mean()
    g_opt.zero_grad()
    loss_g.backward()
    g_opt.step()
