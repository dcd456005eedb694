"""Labels that belong to other rows, 200 of them in every step: too few to tell them from a hard relation."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.randn(200, 6)
answers = (rows[:, 2] > 0).float()[:, None]
answers = answers[torch.tensor(sorted(range(200), key=str))]
model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(30):
    loss = nn.functional.binary_cross_entropy_with_logits(model(rows), answers)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
