"""Soft actor-critic: the density of a tanh-squashed action, where tanh rounds to exactly 1."""
import math

import torch
from torch import nn


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 4)

    def forward(self, state):
        mean, log_std = self.net(state).chunk(2, dim=-1)
        std = log_std.clamp(-5, 2).exp()
        raw = mean + std * torch.randn_like(mean)
        action = torch.tanh(raw)
        density = -0.5 * ((raw - mean) / std) ** 2 - std.log() - 0.5 * math.log(2 * math.pi)
        correction = torch.log(1 - action**2)  # <- log-of-nonpositive
        return action, (density - correction).sum(-1)


torch.manual_seed(0)
actor, critic = Actor(), nn.Linear(6, 1)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-4)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=3e-4)
alpha = 0.2
for step in range(30):
    state = torch.randn(16, 4) * (1 if step < 24 else 25)
    with torch.no_grad():
        a, _ = actor(state)
    q = critic(torch.cat([state, a], 1)).squeeze(1)
    critic_loss = (q - torch.randn(16)).pow(2).mean()
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
    a, log_prob = actor(state)
    actor_loss = (alpha * log_prob - critic(torch.cat([state, a], 1)).squeeze(1)).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
