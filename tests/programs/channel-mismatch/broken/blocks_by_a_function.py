"""Blocks are made by a function; the wrong number is written where the function is called."""

import torch
from torch import nn


def block(before, after):
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = block(3, 16)
        self.second = block(32, 64)  # <- channel-mismatch
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        x = self.second(self.first(x))
        return self.head(x.mean((2, 3)))


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = nn.functional.cross_entropy(net(torch.randn(4, 3, 8, 8)), torch.randint(0, 10, (4,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
