"""Q-learning: the chosen actions need a dimension of their own before `gather`."""

import torch
from torch import nn

values = nn.Linear(4, 3)
optimizer = torch.optim.Adam(values.parameters())
for _ in range(3):
    states = torch.randn(16, 4)
    actions = torch.randint(0, 3, (16,))
    chosen = values(states).gather(1, actions)  # <- broadcast-mismatch
    loss = chosen.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
