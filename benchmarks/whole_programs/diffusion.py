"""Denoising diffusion on two moons, with an average of the weights and sampling at the end."""

import copy
import math

import torch
from laps import lap
from torch import nn

torch.manual_seed(0)
STEPS = 100
betas = torch.linspace(1e-4, 0.02, STEPS)
kept = torch.cumprod(1 - betas, 0)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.inner(self.norm(x))


class Denoiser(nn.Module):
    def __init__(self, width=96, depth=4):
        super().__init__()
        self.into = nn.Linear(2, width)
        self.time = nn.Sequential(nn.Linear(32, width), nn.SiLU(), nn.Linear(width, width))
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.out = nn.Linear(width, 2)

    def forward(self, x, t):
        frequencies = torch.exp(-math.log(1000) * torch.arange(16) / 16)
        angles = t.float()[:, None] * frequencies
        h = self.into(x) + self.time(torch.cat([angles.sin(), angles.cos()], 1))
        for block in self.blocks:
            h = block(h)
        return self.out(h)


def moons(count):
    angle = torch.rand(count) * math.pi
    upper = torch.stack([angle.cos(), angle.sin()], 1)
    lower = torch.stack([1 - angle.cos(), 0.5 - angle.sin()], 1)
    return torch.where(torch.rand(count, 1) > 0.5, upper, lower) + 0.05 * torch.randn(count, 2)


net = Denoiser()
average = copy.deepcopy(net)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
lap()
for step in range(1700):
    x = moons(256)
    t = torch.randint(0, STEPS, (256,))
    noise = torch.randn_like(x)
    noisy = kept[t, None].sqrt() * x + (1 - kept[t, None]).sqrt() * noise
    loss = (net(noisy, t) - noise).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), net.parameters()):
            slow.lerp_(fast, 0.01)
    lap()
    if step % 100 == 0:
        print(step, loss.item())
with torch.no_grad():
    x = torch.randn(256, 2)
    for t in reversed(range(STEPS)):
        predicted = average(x, torch.full((256,), t))
        x = (x - betas[t] / (1 - kept[t]).sqrt() * predicted) / (1 - betas[t]).sqrt()
        if t:
            x = x + betas[t].sqrt() * torch.randn_like(x)
print(x.mean(0).tolist())
