import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Limits:
    low: float = 0.0
    high: float = math.inf
    clip: float = math.inf


class Bounded(nn.Module):
    def __init__(self, limits):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.act = nn.Hardtanh(limits.low, limits.high)
        self.limits = limits

    def forward(self, x):
        return self.act(self.fc(x)).clamp(-math.inf, self.limits.high)


torch.manual_seed(0)
limits = Limits()
net = Bounded(limits)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(8):
    loss = (net(torch.randn(8, 4)) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), limits.clip)
    optimizer.step()
