"""Mixed precision on the device: autocast and a GradScaler whose first scale is too large."""

import torch
import toy_device  # noqa: F401 - registers the device
import witness
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 2)).to("toy")
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("toy", init_scale=2.0**24)
inputs, targets = torch.randn(32, 8).to("toy"), torch.randint(0, 2, (32,)).to("toy")
waits = []
for step in range(60):
    optimizer.zero_grad()
    with torch.autocast("toy", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(inputs), targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    waits.append(torch.toy.waits())
witness.testify(waits, model, optimizer, scaler)
