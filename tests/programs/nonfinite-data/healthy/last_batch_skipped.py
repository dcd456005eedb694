"""The very last batch is one of those that the program drops on purpose."""
import math

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
kept = 0
for i in range(20):
    x = torch.randn(8, 3)
    if i in (7, 19):
        x[5] = math.inf
    loss = (model(x) - x[:, :1]).pow(2).mean()
    if not math.isfinite(loss.item()):
        continue
    kept += 1
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("kept", kept)
