"""loss.backward without parentheses: nothing is learnt."""
import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-2)

    def update(self, x, y):
        self.opt.zero_grad()
        loss = nn.functional.cross_entropy(self.net(x), y)
        loss.backward  # <- missing-backward
        self.opt.step()
        return loss.item()


torch.manual_seed(0)
t = Trainer()
for i in range(60):
    x = torch.randn(32, 4)
    v = t.update(x, (x[:, 0] > 0).long())
    if i % 10 == 0:
        print(i, v)
