import torch
from torch.utils.data import DataLoader, Sampler


class Wrong(Sampler):
    def __iter__(self):
        yield 1
        raise LookupError("no more samples")

    def __len__(self):
        return 4


for batch in DataLoader(torch.ones(4, 2), sampler=Wrong(), batch_size=1):
    batch.sum()
