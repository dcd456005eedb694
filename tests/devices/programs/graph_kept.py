"""A sum of losses keeps the graph of every step, and with it the memory of the device."""

import torch
import toy_device  # noqa: F401 - registers the device
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 8).to("toy")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
total = 0.0
for step in range(40):
    loss = model(torch.randn(16, 8).to("toy")).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss  # <- retained-graph
print(f"{total.item() / 40:.3f}")
