import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.rand(24, 4), torch.randn(24)), batch_size=6, shuffle=True)
other = itertools.cycle(DataLoader(torch.rand(10, 4), batch_size=5))
model = nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for i, (x, y) in enumerate(loader):
        x.sub_(0.5).div_(x.std() + 1e-6)
        u = next(other)
        u[:, 0] = float("nan")
        u = torch.where(torch.isnan(u), torch.zeros_like(u), u)
        loss = (model(x).squeeze(1) - y).pow(2).mean() + 0.1 * model(u).pow(2).mean()
        (loss / 2).backward()
        if i % 2:
            optimizer.step()
            optimizer.zero_grad()
