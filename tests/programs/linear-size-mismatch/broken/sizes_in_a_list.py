"""Layers are made in a loop over a list of sizes; the list for the decoder begins with the wrong one."""

import itertools

import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        layers = []
        for before, after in itertools.pairwise(sizes):
            layers.append(nn.Linear(before, after))
            layers.append(nn.ReLU())
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Stack([20, 16, 8])
        self.decoder = Stack([10, 16, 20])  # <- linear-size-mismatch

    def forward(self, x):
        return self.decoder(self.encoder(x))


model = Autoencoder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(4, 20)
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
