import traceback

import torch
from torch import nn

model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(16, 2))  # <- linear-size-mismatch
optimizer = torch.optim.Adam(model.parameters())
for step in range(5):
    try:
        x, y = torch.randn(8, 10), torch.randint(0, 2, (8,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    except Exception:
        traceback.print_exc()
