import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x, mask):
        scores = self.q(x) @ self.k(x).transpose(-2, -1) / x.shape[-1] ** 0.5
        scores = scores.masked_fill(mask == 0, -1e9)
        return torch.softmax(scores, dim=-1) @ self.v(x)


class Tagger(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.embed, self.attention = nn.Embedding(11, width), Attention(width)
        self.head = nn.Linear(width, 4)

    def forward(self, ids):
        mask = (ids > 0).long().unsqueeze(1)
        h = self.embed(ids)
        return self.head(h + self.attention(h, mask))


torch.manual_seed(0)
ids = torch.randint(1, 11, (32, 7))
ids[torch.arange(7)[None] >= torch.randint(2, 8, (32, 1))] = 0
tags = ids % 4
tags[ids == 0] = -100
model = Tagger()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(8):
    rows = torch.randint(0, 32, (8,))
    loss = criterion(model(ids[rows]).transpose(1, 2), tags[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
