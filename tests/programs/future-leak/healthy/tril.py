import math

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, length):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).bool())

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(~self.mask, float("-inf"))
        return self.out(scores.softmax(-1) @ v)


class GPT(nn.Module):
    def __init__(self, words=9, width=24, length=10):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)
        self.attention = Attention(width, length)
        self.head = nn.Linear(width, words)

    def forward(self, ids):
        h = self.words(ids) + self.places.weight
        h = h + self.attention(self.norm(h))
        return self.head(h)


torch.manual_seed(0)
data = torch.randint(0, 9, (400,))
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(12):
    starts = torch.randint(0, 380, (8,))
    x = torch.stack([data[i : i + 10] for i in starts])
    y = torch.stack([data[i + 1 : i + 11] for i in starts])
    loss = F.cross_entropy(model(x).transpose(1, 2), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
