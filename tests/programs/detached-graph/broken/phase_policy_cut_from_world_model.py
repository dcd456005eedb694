# Two networks and two optimizers made at the top, used one after the other.
import torch
from torch import nn, optim

torch.manual_seed(5)
world = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 4))
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
world_opt = optim.Adam(world.parameters(), lr=3e-3)
policy_opt = optim.Adam(policy.parameters(), lr=3e-3)
A, B = torch.randn(4, 4) * 0.3, torch.randn(2, 4)


def true_dynamics(s, a):
    return s @ A + a @ B


for i in range(120):
    s, a = torch.randn(64, 4), torch.randn(64, 2)
    loss = nn.functional.mse_loss(world(torch.cat([s, a], 1)), true_dynamics(s, a))
    world_opt.zero_grad()
    loss.backward()
    world_opt.step()
print("model", loss.item())

for p in world.parameters():
    p.requires_grad_(False)
for i in range(60):
    s = torch.randn(64, 4)
    a = policy(s)
    nxt = world(torch.cat([s, a.data], 1))  # <- detached-graph
    cost = nxt.pow(2).sum(1).mean() + 0.01 * policy[0].weight.pow(2).sum()
    policy_opt.zero_grad()
    cost.backward()
    policy_opt.step()
print("cost", cost.item())
