"""Breaks the microscope from inside at one operation, where torchwhy is there at all."""

import sys

import torch
from torch import nn
import witness

inside = sys.modules.get("torchwhy.replay.microscope.dispatch_mode")
if inside is not None:
    look = inside.Microscope._look

    def broken(self, *args, **kwargs):
        if self.seen >= 8:
            raise RuntimeError("a fault inside the look")
        look(self, *args, **kwargs)

    inside.Microscope._look = broken
witness.seed()
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters())
for step in range(4):
    # Python looks at a loss; most other operations are left to the accelerator.
    loss = nn.functional.mse_loss(model(torch.randn(5, 4)), torch.zeros(5, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    witness.swear("loss", loss)
witness.swear("model", model)
witness.testify()
