"""Skipped steps at the start are the scaler's work; from step 10 on the loss itself is infinite."""
import torch
from torch import nn


def pooled(h):
    return h.sum(dim=1) ** 2  # <- half-precision-overflow


torch.manual_seed(0)
net = nn.Linear(8, 64)
head = nn.Linear(1, 1)
optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**22)
for step in range(18):
    x = torch.rand(4, 8) * (0.1 if step < 10 else 400)
    optimizer.zero_grad(set_to_none=False)
    with torch.autocast("cpu", dtype=torch.float16):
        h = net(x).abs()
        loss = pooled(h).mean() * 1e-3
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
