"""Stages as in a residual network, made by a method that appends layers to a list."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = self._make_stage(3, 16, 2)
        self.stage2 = self._make_stage(16, 32, 2)
        self.stage3 = self._make_stage(64, 64, 1)  # <- channel-mismatch
        self.head = nn.Linear(64, 10)

    def _make_stage(self, before, after, count):
        layers = []
        for number in range(count):
            layers.append(nn.Conv2d(after if number else before, after, 3, padding=1))
            layers.append(nn.ReLU())
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.stage1(x)
        x = self.stage2(x)
        x = self.stage3(x)
        return self.head(x.mean((2, 3)))


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = nn.functional.cross_entropy(net(torch.randn(4, 3, 8, 8)), torch.randint(0, 10, (4,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
