"""From the third step on no file can grow: what a full disk looks like to a writer."""

import resource

import torch
from torch import nn
import witness

witness.seed()
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters())
before = resource.getrlimit(resource.RLIMIT_FSIZE)
for step in range(12):
    if step == 3:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
    loss = model(torch.randn(5, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    witness.swear("loss", loss.item())
resource.setrlimit(resource.RLIMIT_FSIZE, before)
witness.swear("model", model)
witness.testify()
