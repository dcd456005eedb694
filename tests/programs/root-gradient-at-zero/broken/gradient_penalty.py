"""WGAN-GP style double backward: the norm of the gradient is taken at exactly zero."""

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(critic.parameters(), lr=1e-4)


def penalty(real, fake):
    mix = (0.5 * real + 0.5 * fake).requires_grad_(True)
    scores = critic(mix)
    (grad,) = torch.autograd.grad(scores.sum(), mix, create_graph=True)
    length = torch.sqrt((grad**2).sum(dim=1))  # <- root-gradient-at-zero
    return ((length - 1) ** 2).mean()


for step in range(20):
    real = torch.randn(6, 3)
    fake = torch.randn(6, 3)
    if step == 11:
        real[2] = 0
        fake[2] = 0
        with torch.no_grad():
            critic[0].bias.fill_(-5.0)
            real.mul_(0.01), fake.mul_(0.01)
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty(real, fake)
    opt.zero_grad()
    loss.backward()
    opt.step()
