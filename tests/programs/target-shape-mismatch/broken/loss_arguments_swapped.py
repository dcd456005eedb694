"""Target first, output second."""

import torch
from torch import nn

model = nn.Linear(10, 4)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    output = model(torch.randn(6, 10))
    labels = torch.randint(0, 4, (6,))
    loss = criterion(labels, output)  # <- target-shape-mismatch
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
