"""The program catches torch's error and raises its own from it; the data changed after two good steps."""

import torch
from torch import nn

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run(x):
    try:
        return model(x)  # <- linear-size-mismatch
    except RuntimeError as error:
        raise RuntimeError("the step failed") from error


for step in range(4):
    loss = run(torch.randn(8, 4 if step < 2 else 5)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
