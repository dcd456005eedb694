"""The folder of the run vanishes before anything was written into it."""

import os
import shutil

import torch
from torch import nn
import witness

if "TORCHWHY_RUN" in os.environ:
    shutil.rmtree(os.environ["TORCHWHY_RUN"])
witness.seed()
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss = model(torch.randn(5, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    witness.swear("loss", loss.item())
witness.swear("model", model)
witness.testify()
