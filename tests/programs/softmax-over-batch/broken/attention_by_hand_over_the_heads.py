"""Transformer by hand: the softmax runs over the heads, (batch, heads, query, key), behind a causal mask."""
import math
import torch
from torch import nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        weights = torch.dropout(scores.masked_fill(torch.ones(t,t).triu(1).bool(), -1e9).softmax(1), 0.1, self.training)  # <- softmax-over-batch
        return self.proj((weights @ v).transpose(1, 2).reshape(b, t, w))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.att = Attention(width, heads)
        self.ff = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        x = x + self.att(self.n1(x))
        return x + self.ff(self.n2(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 32)
        self.pos = nn.Parameter(0.02 * torch.randn(1, 9, 32))
        self.blocks = nn.Sequential(Block(32, 4), Block(32, 4))
        self.out = nn.Linear(32, 20)

    def forward(self, tokens):
        return self.out(self.blocks(self.emb(tokens) + self.pos))


m = Model()
opt = torch.optim.AdamW(m.parameters(), lr=1e-3)
for i in range(60):
    tokens = torch.randint(20, (24, 9))
    loss = nn.functional.cross_entropy(m(tokens).flatten(0, 1), tokens.flip(1).flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(loss.item())
