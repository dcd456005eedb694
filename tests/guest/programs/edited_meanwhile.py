"""A program whose helper is edited while it runs, and which imports another file late."""

import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

folder = Path(tempfile.mkdtemp())
sys.path.insert(0, str(folder))
(folder / "helper_of_training.py").write_text("RATE = 0.1\n")
(folder / "imported_late.py").write_text("NAME = 'late'\n")
import helper_of_training

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=helper_of_training.RATE)
for step in range(8):
    optimizer.zero_grad()
    model(torch.randn(5, 4)).square().mean().backward()
    optimizer.step()
    if step == 4:
        (folder / "helper_of_training.py").write_text("RATE = 0.2\n")
        import imported_late
