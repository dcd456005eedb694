"""Trains on two ranks; told so, rank 1 meets a row of zeros in step 3."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    x = torch.randn(8, 4)
    if "zeros" in sys.argv and rank == 1 and step == 3:
        x[2] = 0.0
    norm = x.norm(dim=1, keepdim=True)
    loss = model(x / norm).square().mean()  # the division gives NaN for a row of zeros
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("weights", sum(p.double().sum().item() for p in model.parameters()))
del model
dist.destroy_process_group()
