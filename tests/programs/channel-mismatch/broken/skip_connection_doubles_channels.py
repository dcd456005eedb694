"""Joining two branches doubles the channels; the image happens to be as wide as the layer's number."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.last = nn.Conv2d(8, 1, 3, padding=1)  # <- channel-mismatch

    def forward(self, x):
        shallow = torch.relu(self.first(x))
        deep = torch.relu(self.second(shallow))
        return self.last(torch.cat([shallow, deep], dim=1))


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = net(torch.randn(4, 1, 8, 8)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
