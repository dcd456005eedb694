import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
q_network = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
target_network = copy.deepcopy(q_network)
optimizer = torch.optim.Adam(q_network.parameters(), lr=1e-3)
for step in range(40):
    states, nexts = torch.randn(32, 4), torch.randn(32, 4)
    actions = torch.randint(0, 2, (32, 1))
    rewards = (states[:, 0] > 0).float()
    values = q_network(states).gather(1, actions)
    with torch.no_grad():
        best = target_network(nexts).max(dim=1, keepdim=True).values
        targets = rewards + 0.9 * best  # <- broadcast-in-loss
    loss = ((values - targets) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
