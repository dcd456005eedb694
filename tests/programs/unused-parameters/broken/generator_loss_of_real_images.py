import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(2)
G = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 3))
D = nn.Sequential(nn.Linear(3, 24), nn.LeakyReLU(0.1), nn.Linear(24, 1))
opt_g = torch.optim.Adam(G.parameters(), 1e-3)
opt_d = torch.optim.Adam(D.parameters(), 1e-3)


def d_loss(real, fake):
    return F.relu(1 - D(real)).mean() + F.relu(1 + D(fake.detach())).mean()


def g_loss(img):
    return -D(img).mean()


for step in range(150):
    real = torch.randn(32, 3) + 2
    fake = G(torch.randn(32, 4))  # <- unused-parameters
    opt_d.zero_grad()
    ld = d_loss(real, fake)
    ld.backward()
    opt_d.step()
    opt_g.zero_grad()
    lg = g_loss(real)
    lg.backward()
    opt_g.step()
    if step % 50 == 0:
        print(step, ld.item(), lg.item())
