import torch
from torch import nn


class Loop:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
        self.opt = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.total_loss = 0

    def train(self, steps):
        for i in range(steps):
            x = torch.randn(16, 10)
            loss = (self.model(x) - x.sum(1, keepdim=True)).abs().mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.total_loss = self.total_loss + loss  # <- retained-graph
        print("mean", self.total_loss / steps)


torch.manual_seed(0)
Loop().train(80)
