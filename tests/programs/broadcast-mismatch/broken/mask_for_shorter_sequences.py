"""A transformer whose causal mask has a fixed size meets a longer sequence after some steps."""

import torch
from torch import nn


class Language(nn.Module):
    def __init__(self, width=16, longest=10):
        super().__init__()
        self.embed = nn.Embedding(30, width)
        layer = nn.TransformerEncoderLayer(width, 2, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(width, 30)
        self.register_buffer("mask", torch.triu(torch.full((longest, longest), float("-inf")), 1))

    def forward(self, ids):
        x = self.encoder(self.embed(ids), mask=self.mask)  # <- broadcast-mismatch
        return self.out(x)


model = Language()
optimizer = torch.optim.Adam(model.parameters())
for step in range(6):
    ids = torch.randint(0, 30, (4, 10 if step < 4 else 12))
    loss = nn.functional.cross_entropy(model(ids).transpose(1, 2), ids)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
