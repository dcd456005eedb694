"""Continuous REINFORCE with a critic that sees the sampled action."""
import torch
from torch import nn
from torch.distributions import Normal
torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
log_std = nn.Parameter(torch.zeros(2))
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters(), log_std], lr=5e-3)
goal = torch.tensor([[0.5, -0.3, 0.2], [0.1, 0.4, -0.6]])
for it in range(200):
    s = torch.randn(128, 3)
    dist = Normal(actor(s), log_std.exp())
    a = dist.sample()
    r = -((a - s @ goal.T) ** 2).sum(1)
    q = critic(torch.cat([s, a], 1)).squeeze(1)
    adv = r - r.mean()
    loss = -(dist.log_prob(a).sum(1) * adv).mean() + 0.5 * (q - r).pow(2).mean() - 1e-3 * dist.entropy().sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(it, r.mean().item())
