import torch
import torch.nn.functional as F
from torch import nn


class Discriminator(nn.Module):
    """StyleGAN's layer that lets samples see how different their group is, on purpose."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.out = nn.Linear(9 * 64, 1)

    def forward(self, x):
        h = F.leaky_relu(self.conv(x), 0.2)
        grouped = h.view(4, -1, 8, 8, 8)
        deviation = (grouped - grouped.mean(dim=0)).square().mean(dim=0).add(1e-8).sqrt().mean(dim=(1, 2, 3))
        extra = deviation.view(-1, 1, 1, 1).repeat(4, 1, 8, 8)
        return self.out(torch.cat([h, extra], dim=1).flatten(1))


torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(8, 3 * 64), nn.Tanh(), nn.Unflatten(1, (3, 8, 8)))
discriminator = Discriminator()
g_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
for step in range(20):
    real, fake = torch.rand(16, 3, 8, 8), generator(torch.randn(16, 8))
    d_loss = F.softplus(-discriminator(real)).mean() + F.softplus(discriminator(fake.detach())).mean()
    d_optimizer.zero_grad()
    d_loss.backward()
    d_optimizer.step()
    g_loss = F.softplus(-discriminator(fake)).mean()
    g_optimizer.zero_grad()
    g_loss.backward()
    g_optimizer.step()
