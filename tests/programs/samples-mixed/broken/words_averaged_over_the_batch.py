"""Pooling over the batch: x.mean(0) where x.mean(1) is meant, expanded to the batch again."""
import torch
from torch import nn

torch.manual_seed(0)


class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(40, 16)
        self.out = nn.Linear(16, 3)

    def forward(self, tokens):
        e = self.emb(tokens)                 # batch, time, feature
        pooled = e.mean(0, keepdim=True).expand_as(e)  # <- samples-mixed
        return self.out(pooled[:, 0])


net = Pool()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(80):
    tokens = torch.randint(40, (24, 10))
    y = (tokens[:, 0] // 14).clamp(max=2)
    loss = nn.functional.cross_entropy(net(tokens), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(loss.item())
