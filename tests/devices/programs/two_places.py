"""One part of the model is on the device, the other on the CPU, both under one optimizer."""

import torch
import toy_device  # noqa: F401 - registers the device
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Dropout(0.1)).to("toy")
head = nn.Sequential(nn.Dropout(0.1), nn.Linear(12, 2))
optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
inputs, targets = torch.randn(32, 6), torch.randint(0, 2, (32,))
waits = []
for step in range(50):
    loss = nn.functional.cross_entropy(head(body(inputs.to("toy")).cpu()), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    waits.append(torch.toy.waits())

import witness  # noqa: E402 - writes what this program is compared by

witness.testify(waits, body, head, optimizer)
