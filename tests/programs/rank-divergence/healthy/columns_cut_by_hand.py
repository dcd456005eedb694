"""A linear layer whose outputs are divided between two ranks; only the norm before it is shared."""

import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


def train(rank, folder):
    dist.init_process_group("gloo", store=dist.FileStore(f"{folder}/store", 2), rank=rank, world_size=2)
    torch.manual_seed(0)
    norm = nn.LayerNorm(4)
    half = nn.Linear(4, 2)
    nn.init.zeros_(half.bias)
    optimizer = torch.optim.SGD([*norm.parameters(), *half.parameters()], lr=0.1)
    torch.manual_seed(7)
    for step in range(14):
        x = torch.randn(8, 4)
        wanted = x[:, 2 * rank : 2 * rank + 2]
        loss = (half(norm(x)) - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        for parameter in norm.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        ranks = [mp.get_context("fork").Process(target=train, args=(rank, folder)) for rank in range(2)]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join()
