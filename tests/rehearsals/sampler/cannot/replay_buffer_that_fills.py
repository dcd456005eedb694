"""Only the filled rows of the memory are drawn."""

import torch
from torch import nn

torch.manual_seed(0)
states, rewards = torch.zeros(5000, 4), torch.zeros(5000)
filled = 0
value = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(value.parameters(), lr=1e-3)
for step in range(70):
    if filled < 12:
        states[filled] = torch.randn(4)
        rewards[filled] = states[filled].sum()
        filled += 1
    rows = torch.randint(0, filled, (16,))
    loss = nn.functional.mse_loss(value(states[rows]).squeeze(1), rewards[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
