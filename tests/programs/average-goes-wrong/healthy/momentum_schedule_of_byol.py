import copy
import math

import torch
from torch import nn


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8))
        self.predictor = nn.Linear(8, 8)
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    @torch.no_grad()
    def follow(self, share):
        for slow, fast in zip(self.target.parameters(), self.online.parameters()):
            slow.lerp_(fast, share)

    def forward(self, first, second):
        with torch.no_grad():
            goal = nn.functional.normalize(self.target(second), dim=1)
        guess = nn.functional.normalize(self.predictor(self.online(first)), dim=1)
        return 2 - 2 * (guess * goal).sum(1).mean()


torch.manual_seed(0)
model = BYOL()
optimizer = torch.optim.Adam([*model.online.parameters(), *model.predictor.parameters()], lr=1e-3)
steps = 40
for step in range(steps):
    x = torch.randn(64, 10)
    loss = model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.follow(0.01 * (1 + math.cos(math.pi * step / steps)) / 2)
