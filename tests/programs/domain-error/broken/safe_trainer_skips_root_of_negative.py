"""A trainer that skips every batch whose loss is NaN, and so nearly all of them."""
import math

import torch
from torch import nn


class SafeTrainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=0.05)
        self.skipped = 0

    def step(self, x, y):
        loss = (torch.sqrt(self.model(x).squeeze(1)) - y).pow(2).mean()  # <- domain-error
        if math.isnan(loss.item()):
            self.skipped += 1
            return None
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


torch.manual_seed(0)
trainer = SafeTrainer(nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1)))
for i in range(100):
    x = torch.randn(32, 5)
    trainer.step(x, x[:, 0].abs())
print("skipped", trainer.skipped)
