"""Two optimizers, one after the other: an autoencoder, then a classifier on its body."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.randn(320, 6)
classes = (rows[:, :2].sum(1) > 0).long()
body, decoder, head = nn.Sequential(nn.Linear(6, 32), nn.ReLU()), nn.Linear(32, 6), nn.Linear(32, 2)
optimizer = torch.optim.Adam([*body.parameters(), *decoder.parameters()], lr=3e-3)
for _ in range(8):
    picked = torch.randint(0, 320, (32,))
    optimizer.zero_grad()
    nn.functional.mse_loss(decoder(body(rows[picked])), rows[picked]).backward()
    optimizer.step()
optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=3e-3)
for picked in [*torch.randperm(320).split(32), *torch.randperm(320).split(32)]:
    optimizer.zero_grad()
    nn.functional.cross_entropy(head(body(rows[picked])), classes[picked]).backward()
    optimizer.step()
