import random

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, Sampler, TensorDataset
import witness

witness.seed()
x = torch.randn(48, 5)
data = TensorDataset(x, x.sum(1, keepdim=True))


class Noisy(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        return {"x": x[index] + torch.randn(5), "y": x[index].sum(0, keepdim=True), "r": random.random()}


class Stream(IterableDataset):
    def __iter__(self):
        for index in range(24):
            yield x[index], x[index].sum(0, keepdim=True)


class Backwards(Sampler):
    def __iter__(self):
        return iter(range(23, -1, -1))

    def __len__(self):
        return 24


class OwnLoader(DataLoader):
    def __iter__(self):
        for batch in super().__iter__():
            yield batch


loaders = [
    DataLoader(data, batch_size=16, shuffle=True),
    DataLoader(Noisy(), batch_size=8, shuffle=True, num_workers=2),
    DataLoader(Noisy(), batch_size=8, num_workers=1, persistent_workers=True, prefetch_factor=3),
    DataLoader(Stream(), batch_size=8),
    DataLoader(Stream(), batch_size=None),
    DataLoader(data, batch_size=8, sampler=Backwards()),
    DataLoader(data, batch_sampler=BatchSampler(RandomSampler(data), 7, drop_last=True)),
    OwnLoader(data, batch_size=12, shuffle=True, generator=torch.Generator().manual_seed(3)),
]
model = nn.Linear(5, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for number, loader in enumerate(loaders):
    for epoch in range(2):
        for batch in loader:
            x_, y_ = (batch["x"], batch["y"]) if isinstance(batch, dict) else batch
            loss = (model(x_) - y_).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            witness.swear(f"loss {number}", loss)
        print(number, epoch, loss.item())
witness.swear("model", model)
witness.swear("optimizer", optimizer)
witness.testify()
