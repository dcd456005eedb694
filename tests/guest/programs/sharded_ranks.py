"""Trains a model that two ranks share: `fsdp2`, `fsdp1` or `tensor`.

Told so, rank 1 meets a row of zeros in step 2 (`zeros`), or one row of a weight's gradient is NaN, which only the rank
that holds it can see (`root`).
"""

import sys

import torch
import torch.distributed as dist
from torch import nn

way = sys.argv[1]
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        hidden = torch.relu(self.body(x))
        if "root" in sys.argv and step == 2:
            return hidden[:, :7].sum(dim=1) + torch.sqrt(0 * hidden[:, 7])
        return self.head(hidden)


model = Net()
if way == "fsdp2":
    from torch.distributed.fsdp import fully_shard

    fully_shard(model, mesh=dist.init_device_mesh("cpu", (2,)))
elif way == "fsdp1":
    from torch.distributed.fsdp import FullyShardedDataParallel

    cpu = torch.device("cpu")
    model = FullyShardedDataParallel(model, use_orig_params=True, device_id=cpu)
else:
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    mesh = dist.init_device_mesh("cpu", (2,))
    parallelize_module(model, mesh, {"body": ColwiseParallel(), "head": RowwiseParallel()})
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
torch.manual_seed(0 if way == "tensor" else rank)
for step in range(4):
    x = torch.randn(8, 4)
    if "zeros" in sys.argv and rank == 1 and step == 2:
        x[3] = 0.0
    norm = x.norm(dim=1, keepdim=True)
    loss = model(x / norm).square().mean()  # the division gives NaN for a row of zeros
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
parts = [getattr(p, "to_local", lambda p=p: p)() for p in model.parameters()]
print([part.double().sum().item().hex() for part in parts])
group = dist.distributed_c10d._get_default_group()
print("collectives", group._get_sequence_number_for_group())
dist.destroy_process_group()
