"""A model that is called once more by an experiment: everything that its forward touches must look untouched."""

import random

import numpy
import torch
from torch import nn
import witness


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(5, 8, dropout=0.3, num_layers=2)
        self.norm = nn.BatchNorm1d(8)
        self.out = nn.Linear(8, 2)
        self.calls = 0
        self.seen = []
        self.register_buffer("total", torch.zeros(()))
        self.last = None

    def forward(self, x):
        self.calls += 1
        self.seen.append(tuple(x.shape))
        self.total += x.sum()
        states, _ = self.rnn(x + 0.01 * torch.randn_like(x) + random.random() + numpy.random.rand())
        self.last = torch.dropout(self.norm(states[:, -1]), 0.5, True)
        print("forward", self.calls)
        return self.out(self.last)


witness.seed()
model = Noisy()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(4):
    x = torch.randn(6, 4, 5)
    loss = nn.functional.cross_entropy(model(x), torch.randint(0, 2, (6,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    witness.swear("loss", loss)
    witness.swear("last", model.last)
witness.swear("model", model)
witness.swear("counts", [model.calls, model.seen, model.training, model.rnn.training, sorted(vars(model))])
witness.swear("optimizer", optimizer)
witness.testify()
