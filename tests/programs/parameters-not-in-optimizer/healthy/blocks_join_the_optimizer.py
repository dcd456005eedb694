"""Greedy depth growing: a residual block is appended every few epochs."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.lin = nn.Linear(d, d)

    def forward(self, x):
        return x + torch.tanh(self.lin(self.norm(x)))


class GrowingNet(nn.Module):
    def __init__(self, d=16, classes=3):
        super().__init__()
        self.stem = nn.Linear(6, d)
        self.blocks = nn.ModuleList([Block(d)])
        self.head = nn.Linear(d, classes)

    def forward(self, x):
        h = self.stem(x)
        for block in self.blocks:
            h = block(h)
        return self.head(h)


class Experiment:
    def __init__(self, grow_every=3, epochs=9):
        self.net = GrowingNet()
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=3e-3, weight_decay=1e-2)
        self.grow_every, self.epochs = grow_every, epochs

    def batches(self, count=15, size=48):
        for _ in range(count):
            x = torch.randn(size, 6)
            yield x, (x[:, :3] * x[:, 3:]).argmax(1)

    def grow(self):
        block = Block(16)
        self.net.blocks.append(block)
        self.opt.add_param_group({"params": block.parameters(), "lr": 1e-3})

    def fit(self):
        for epoch in range(self.epochs):
            if epoch and epoch % self.grow_every == 0:
                self.grow()
            total = 0.0
            for x, y in self.batches():
                self.opt.zero_grad()
                loss = nn.functional.cross_entropy(self.net(x), y)
                loss.backward()
                self.opt.step()
                total += loss.item()
            print(f"epoch {epoch} blocks {len(self.net.blocks)} loss {total / 15:.3f}")


torch.manual_seed(0)
Experiment().fit()
