"""The distance of a point to itself is 0, where the root has no finite slope; the backward pass runs on a device thread."""

import torch
import toy_device  # noqa: F401 - registers the device
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 3).to("toy")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
points = torch.randn(30, 8, 3)
points[26, 1] = points[26, 0]

for step in range(30):
    placed = model(points[step].to("toy"))
    squares = (placed[1:] - placed[:-1]).pow(2).sum(1)
    loss = squares.sqrt().mean()  # <- root-gradient-at-zero
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
