"""The same, and the program ends after three skipped steps: few, but nothing good comes after them."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for step in range(73):
    x = torch.rand(8, 6)
    amount = x.sum(1, keepdim=True)
    if step >= 70:
        amount = amount - amount.min()
    loss = (model(x) - torch.log(amount)).square().mean()  # <- log-of-nonpositive
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
