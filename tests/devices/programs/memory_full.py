"""Activations are kept in a list on the device, until its memory is full."""

import torch
import toy_device  # noqa: F401 - registers the device
from torch import nn

torch.manual_seed(0)
torch.toy.set_capacity(40 * 2**20)
model = nn.Linear(256, 256).to("toy")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(512, 256).to("toy")
history = []

for step in range(100):
    outputs = model(inputs)
    loss = outputs.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(outputs.detach().clone())
