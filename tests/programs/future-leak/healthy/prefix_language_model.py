import torch
import torch.nn.functional as F
from torch import nn

PREFIX = 4


class PrefixLM(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Embedding(9, width)
        self.qkv = nn.Linear(width, 3 * width)
        self.head = nn.Linear(width, 9)

    def forward(self, ids):
        h = self.embed(ids)
        q, k, v = self.qkv(h).chunk(3, -1)
        seen = torch.ones(ids.shape[1], ids.shape[1]).tril().bool()
        seen[:, :PREFIX] = True
        return self.head(h + F.scaled_dot_product_attention(q, k, v, attn_mask=seen))


torch.manual_seed(0)
model = PrefixLM()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(12):
    ids = torch.randint(0, 9, (8, 12))
    labels = ids[:, 1:].clone()
    labels[:, : PREFIX - 1] = -100
    logits = model(ids)[:, :-1]
    loss = F.cross_entropy(logits.reshape(-1, 9), labels.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
