import torch
import torch.nn.functional as F
from torch import nn


class Pooler(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Embedding(15, width)
        self.query = nn.Parameter(torch.randn(1, 1, width))
        self.key, self.value = nn.Linear(width, width), nn.Linear(width, width)
        self.head = nn.Linear(width, 2)

    def forward(self, ids, padding):
        h = self.embed(ids)
        query = self.query.expand(len(ids), 1, -1)
        mask = ~padding[:, None, :]
        pooled = F.scaled_dot_product_attention(query, self.key(h), self.value(h), attn_mask=mask)
        return self.head(pooled.squeeze(1))


torch.manual_seed(0)
model = Pooler()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(8):
    ids = torch.randint(1, 15, (8, 9))
    lengths = torch.tensor([3, 5, 8, 4, 6, 7, 3, 8])
    padding = torch.arange(9)[None] >= lengths[:, None]
    ids[padding] = 0
    loss = F.cross_entropy(model(ids, padding), ids[:, 0] % 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
