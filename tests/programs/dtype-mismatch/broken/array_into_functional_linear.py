"""NumPy's float64 reaches a product by `F.linear` in a hand-written layer."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 5))

    def forward(self, x):
        return F.linear(x, self.weight)  # <- dtype-mismatch


layer = Layer()
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
rows = np.arange(40).reshape(8, 5) / 40
for _ in range(3):
    loss = layer(torch.tensor(rows)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
