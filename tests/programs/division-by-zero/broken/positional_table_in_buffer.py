import math

import torch
from torch import nn


class Positions(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        half = width // 2
        exponent = torch.arange(half) / (half - 1)  # <- division-by-zero
        frequency = torch.exp(-math.log(10000.0) * exponent)
        angle = torch.arange(length)[:, None] * frequency[None, :]
        self.register_buffer("table", torch.cat([angle.sin(), angle.cos()], dim=1))

    def forward(self, x):
        return x + self.table[: x.shape[1]]


class Model(nn.Module):
    def __init__(self, width=2):
        super().__init__()
        self.embed = nn.Embedding(9, width)
        self.positions = Positions(16, width)
        self.out = nn.Linear(width, 9)

    def forward(self, tokens):
        return self.out(self.positions(self.embed(tokens)))


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    tokens = torch.randint(0, 9, (3, 7))
    loss = nn.functional.cross_entropy(model(tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
