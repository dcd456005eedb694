# a soft update that gives each parameter new memory
import copy

import torch
from torch import nn

torch.manual_seed(0)
online = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target = copy.deepcopy(online)
optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
tau = 0.01
for step in range(40):
    state, action = torch.randn(32, 4), torch.randint(0, 2, (32, 1))
    with torch.no_grad():
        wanted = state[:, :1].sign() + 0.9 * target(state + 0.1).max(1, keepdim=True).values
    loss = nn.functional.smooth_l1_loss(online(state).gather(1, action), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for p, q in zip(target.parameters(), online.parameters()):
        p.data = (1 - tau) * p.data + tau * q.data
