"""Two ranks over gloo that stop moving in one of several ways, named by the first argument, until they are ended."""

import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FOREVER = 600.0
LONGEST_EVALUATION = 15.0


def main(rank, port, way):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    model = DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4 - (rank == 1 and way == "uneven")):
        loss = model(torch.randn(8, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        dist.all_reduce(loss.detach())
    stand(rank, way)
    dist.barrier()
    dist.destroy_process_group()


def stand(rank, way):
    total = torch.zeros(3)
    if way == "skips":
        if rank == 0:
            dist.barrier()
        else:
            time.sleep(FOREVER)
    elif way == "order":
        if rank == 0:
            dist.all_reduce(total)
        else:
            dist.broadcast(total, 1)
            dist.all_gather([total.clone(), total.clone()], total)
    elif way == "swallows":
        try:
            int("1" if rank == 0 else "a bad sample")
            dist.all_reduce(total)
        except ValueError:
            time.sleep(FOREVER)
    elif way == "evaluates" and rank == 0:
        # Until it is told; on a busy machine the first step is so slow that nothing may be told at all.
        until = time.monotonic() + LONGEST_EVALUATION
        while time.monotonic() < until and "in stand" not in Path(sys.argv[2]).read_text():
            total += torch.randn(100, 100).mm(torch.randn(100, 100)).sum()


if __name__ == "__main__":
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        free = taken.getsockname()[1]
    mp.spawn(main, (free, sys.argv[1]), nprocs=2)
