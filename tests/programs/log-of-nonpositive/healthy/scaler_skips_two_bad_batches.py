"""Two bad batches after many good steps: the scaler skips them, as it is made for, and training goes on."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for step in range(120):
    x = torch.rand(8, 6)
    amount = x.sum(1, keepdim=True)
    if step in (60, 61):
        amount = amount - amount.min()
    loss = (model(x) - torch.log(amount)).square().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
