"""Behaviour cloning, then REINFORCE with a baseline: (T,) log-probabilities times (T, 1) advantages."""
import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
value = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))


def expert(s):
    return s[:, :3].argmax(1)


bc = torch.optim.Adam(policy.parameters(), lr=3e-3)
for _ in range(60):
    s = torch.randn(64, 4)
    loss = nn.functional.cross_entropy(policy(s), expert(s))
    bc.zero_grad()
    loss.backward()
    bc.step()
print("bc", loss.item())

pi_opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
v_opt = torch.optim.Adam(value.parameters(), lr=3e-3)
for it in range(60):
    s = torch.randn(64, 4)
    dist = torch.distributions.Categorical(logits=policy(s))
    a = dist.sample()
    r = (a == expert(s)).float() - 0.2 * (a == 0).float()
    v = value(s)
    v_loss = (v.squeeze(1) - r).pow(2).mean()
    v_opt.zero_grad()
    v_loss.backward()
    v_opt.step()
    advantage = r.unsqueeze(1) - v.detach()
    pi_loss = -(dist.log_prob(a) * advantage).mean()  # <- broadcast-in-loss
    pi_opt.zero_grad()
    pi_loss.backward()
    pi_opt.step()
    if it % 20 == 0:
        print(it, r.mean().item())
