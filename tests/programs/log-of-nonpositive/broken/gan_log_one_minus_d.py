"""The original minimax loss, written by hand, with a discriminator that becomes certain."""
import torch
from torch import nn

torch.manual_seed(3)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
g_optimizer = torch.optim.Adam(G.parameters(), lr=1e-3)
d_optimizer = torch.optim.Adam(D.parameters(), lr=1e-3)


def real_samples(n, spread):
    return torch.randn(n, 2) * 0.1 + spread


def d_loss(real, fake):
    return -(torch.log(D(real) + 1e-8) + torch.log(1 - D(fake) + 1e-8)).mean()


def g_loss(fake):
    return torch.log(1 - D(fake)).mean()  # <- log-of-nonpositive


for it in range(40):
    noise = torch.randn(32, 4)
    d_optimizer.zero_grad()
    d_loss(real_samples(32, 2.0), G(noise).detach()).backward()
    d_optimizer.step()
    if it == 25:
        with torch.no_grad():
            D[2].bias.fill_(40.0)  # a discriminator that was loaded from a longer run
    g_optimizer.zero_grad()
    loss = g_loss(G(noise))
    loss.backward()
    g_optimizer.step()
