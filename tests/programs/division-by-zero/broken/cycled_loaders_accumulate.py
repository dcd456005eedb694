"""Two loaders, one of them endless, three micro-batches to a step, and batches changed in place."""
import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
labelled = torch.rand(48, 5) + 0.5
labelled[29] = 0.0
target = torch.randn(48)
loader = DataLoader(TensorDataset(labelled, target), batch_size=4)
unlabelled = itertools.cycle(DataLoader(torch.rand(20, 5) + 0.5, batch_size=5, shuffle=True))
model = nn.Sequential(nn.Linear(5, 9), nn.SiLU(), nn.Linear(9, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)


def shares(x):
    x.div_(x.sum(1, keepdim=True))  # <- division-by-zero
    return x


for number, (x, y) in enumerate(loader, start=1):
    u = next(unlabelled)
    supervised = (model(shares(x)).squeeze(1) - y).pow(2).mean()
    consistency = (model(shares(u.clone())) - model(u)).pow(2).mean()
    ((supervised + 0.1 * consistency) / 3).backward()
    if number % 3 == 0:
        optimizer.step()
        optimizer.zero_grad()
