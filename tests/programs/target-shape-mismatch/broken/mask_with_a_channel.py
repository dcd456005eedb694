"""Segmentation: the mask has a channel dimension that cross entropy does not take."""

import torch
from torch import nn

model = nn.Conv2d(3, 4, 3, padding=1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def segmentation_loss(prediction, mask):
    return nn.functional.cross_entropy(prediction, mask)  # <- target-shape-mismatch


for _ in range(3):
    loss = segmentation_loss(model(torch.randn(2, 3, 8, 8)), torch.randint(0, 4, (2, 1, 8, 8)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
