"""Trains on two ranks with batches of a loader: which rows each rank draws, and who averages gradients, it is told."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

wrapper, rows = sys.argv[1:]
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)


class Stream(IterableDataset):
    def __init__(self, start, stride):
        self.start, self.stride = start, stride

    def __iter__(self):
        for place in range(self.start, 64, self.stride):
            yield table[place]


table = torch.randn(64, 4)
if rows == "same-stream":
    dataset = Stream(0, 1)
elif rows == "parts-of-stream":
    dataset = Stream(rank, 2)
elif rows == "own-tables":
    dataset = TensorDataset(table[rank::2])
else:
    dataset = TensorDataset(table)
is_stream = isinstance(dataset, IterableDataset)
loader = DataLoader(dataset, batch_size=8, shuffle=not is_stream)

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
if wrapper == "ddp":
    model = nn.parallel.DistributedDataParallel(model)
elif wrapper == "fsdp2":
    from torch.distributed.fsdp import fully_shard

    fully_shard(model, mesh=dist.init_device_mesh("cpu", (2,)))
else:
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    mesh = dist.init_device_mesh("cpu", (2,))
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for batch in loader:
    x = batch if is_stream else batch[0]
    loss = (model(x) - x.sum(dim=1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if rows == "own-tables":  # all ranks evaluate on the same rows
    with torch.no_grad():
        for x in DataLoader(table, batch_size=16):
            model(x)
del model
dist.destroy_process_group()
