import random
import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
memory, states = [], torch.randn(16, 4)
probe = torch.randn(20, 4)
for step in range(120):
    with torch.no_grad():
        actions = q(states).argmax(1)
        probe_value = q(probe).max(1).values.mean().item()
    rewards, following = states[:, 0] * (2 * actions - 1), torch.randn(16, 4)
    memory += list(zip(states, actions, rewards, following))
    states = following
    s, a, r, n = (torch.stack(one) for one in zip(*random.sample(memory, 16)))
    with torch.no_grad():
        target = r + 0.9 * q(n).max(1).values
    loss = nn.functional.mse_loss(q(s).gather(1, a[:, None])[:, 0], target)
    opt.zero_grad()
    loss.backward()
    opt.step()
