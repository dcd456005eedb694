import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x, mask):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(x.shape[-1])
        scores = scores.masked_fill(~mask[:, None, :], float("-inf"))
        weights = scores.softmax(dim=-1)  # <- fully-masked-softmax
        return weights @ self.v(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention(16)
        self.head = nn.Linear(16, 1)

    def forward(self, x, mask):
        return self.head(self.attention(x, mask).mean(1))


torch.manual_seed(0)
model = Model()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(12):
    x = torch.randn(4, 6, 16)
    lengths = torch.tensor([6, 3, 2, 0 if step == 9 else 1])
    mask = torch.arange(6)[None] < lengths[:, None]
    loss = model(x, mask).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
