import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
generator = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
c_opt = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
g_opt = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))


def penalty(real, fake):
    t = torch.rand(len(real), 1)
    mix = (t * real + (1 - t) * fake).requires_grad_()
    (g,) = torch.autograd.grad(critic(mix).sum(), mix, create_graph=True)
    return ((g.pow(2).sum(1) + 1e-12).sqrt() - 1).pow(2).mean()


for step in range(12):
    for _ in range(2):
        real, fake = torch.randn(16, 2) + 2, generator(torch.randn(16, 3)).detach()
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty(real, fake)
        c_opt.zero_grad()
        loss.backward()
        c_opt.step()
    g_loss = -critic(generator(torch.randn(16, 3))).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
