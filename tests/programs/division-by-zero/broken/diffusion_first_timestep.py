"""A diffusion model: at t = 0 the noise level is 0, and the predicted noise is divided by it."""
import torch
from torch import nn


class Schedule:
    def __init__(self, steps):
        beta = torch.linspace(0, 0.02, steps)
        self.keep = torch.cumprod(1 - beta, dim=0)
        self.steps = steps

    def corrupt(self, x, t, noise):
        keep = self.keep[t][:, None]
        return keep.sqrt() * x + (1 - keep).sqrt() * noise

    def score_weight(self, t):
        return 1 / (1 - self.keep[t])  # <- division-by-zero


torch.manual_seed(0)
schedule = Schedule(1000)
net = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 2))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(40):
    x = torch.randn(32, 2)
    t = torch.randint(1, 1000, (32,))
    if step == 31:
        t[13] = 0
    noise = torch.randn_like(x)
    noisy = schedule.corrupt(x, t, noise)
    predicted = net(torch.cat([noisy, t[:, None] / 1000], 1))
    loss = (schedule.score_weight(t)[:, None] * (predicted - noise) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
