"""A small character-level GPT as people write it, with a warm-up schedule and an estimate of the validation loss."""

import math

import torch
from laps import lap
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
WIDTH, HEADS, LAYERS, CONTEXT, BATCH = 64, 4, 4, 32, 8
text = "the quick brown fox jumps over the lazy dog and runs away from the bear. " * 200
letters = sorted(set(text))
data = torch.tensor([letters.index(letter) for letter in text])
train, held_out = data[: int(0.9 * len(data))], data[int(0.9 * len(data)) :]


def batch_of(source):
    starts = torch.randint(len(source) - CONTEXT - 1, (BATCH,))
    x = torch.stack([source[i : i + CONTEXT] for i in starts])
    return x, torch.stack([source[i + 1 : i + CONTEXT + 1] for i in starts])


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("mask", torch.tril(torch.ones(CONTEXT, CONTEXT)).bool())

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=2)
        q, k, v = (t.view(batch, length, HEADS, width // HEADS).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // HEADS)
        scores = scores.masked_fill(~self.mask[:length, :length], float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(len(letters), WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(letters))

    def forward(self, x, y):
        h = self.tokens(x) + self.places(torch.arange(x.shape[1]))
        logits = self.head(self.norm(self.blocks(h)))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), y.view(-1))


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 20))
lap()
for step in range(1100):
    if step % 40 == 0:
        model.eval()
        with torch.no_grad():
            print(step, sum(model(*batch_of(held_out)).item() for _ in range(5)) / 5)
        model.train()
    loss = model(*batch_of(train))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    lap()
