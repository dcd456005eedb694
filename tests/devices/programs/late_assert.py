"""A label out of range makes a kernel fail; the CPU hears of it when it reads the loss, lines later."""

import torch
import toy_device  # noqa: F401 - registers the device
from torch import nn

torch.manual_seed(0)
torch.toy.asynchronous(True)
model = nn.Sequential(nn.Embedding(10, 8), nn.Flatten(), nn.Linear(32, 3)).to("toy")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
words = torch.randint(0, 10, (40, 4, 4))
labels = torch.randint(0, 3, (40, 4))
words[30, 2, 1] = 10

for step in range(40):
    features, target = words[step].to("toy", non_blocking=True), labels[step].to("toy", non_blocking=True)
    vectors = model(features)
    loss = nn.functional.cross_entropy(vectors, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    shown = loss.detach()
    print(f"step {step} loss {shown.item():.4f}")
