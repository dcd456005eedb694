import argparse
import os
import tempfile

import torch
import torch.nn as nn


class Trainer:
    def __init__(self, args):
        self.args = args
        self.net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
        self.optim = torch.optim.Adam(self.net.parameters(), lr=args.lr)

    def fit(self, x, y, steps):
        for _ in range(steps):
            loss = nn.functional.mse_loss(self.net(x), y)
            self.optim.zero_grad()
            loss.backward()
            self.optim.step()

    def save(self, path):
        torch.save({"net": self.net.state_dict(), "optim": self.optim.state_dict(), "args": self.args}, path)

    def restore(self, path):
        saved = torch.load(path)  # <- unsafe-checkpoint-load
        self.net.load_state_dict(saved["net"])
        self.optim.load_state_dict(saved["optim"])


parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
torch.manual_seed(1)
trainer = Trainer(parser.parse_args())
x = torch.randn(64, 6)
trainer.fit(x, x.sum(1, keepdim=True), 6)
path = os.path.join(tempfile.mkdtemp(), "checkpoint.pt")
trainer.save(path)
trainer.restore(path)
trainer.fit(x, x.sum(1, keepdim=True), 6)
