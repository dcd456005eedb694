"""Document classifier with additive attention pooling over words; the softmax goes along the documents."""
import torch
from torch import nn


class AttentionPool(nn.Module):
    def __init__(self, d, a=16):
        super().__init__()
        self.proj, self.score = nn.Linear(d, a), nn.Linear(a, 1, bias=False)

    def forward(self, h, mask):
        e = self.score(torch.tanh(self.proj(h))).squeeze(-1)
        e = e.masked_fill(~mask, -1e4)
        alpha = e.softmax(0)  # <- softmax-over-batch
        return (alpha.unsqueeze(-1) * h).sum(1)


class DocNet(nn.Module):
    def __init__(self, v=50, d=24, c=4):
        super().__init__()
        self.emb = nn.Embedding(v, d, padding_idx=0)
        self.pool = AttentionPool(d)
        self.out = nn.Linear(d, c)

    def forward(self, ids):
        return self.out(self.pool(self.emb(ids), ids != 0))


def docs(n=40, t=11):
    y = torch.randint(0, 4, (n,))
    ids = torch.randint(5, 50, (n, t))
    ids[torch.arange(n), torch.randint(0, 6, (n,))] = y + 1
    lengths = torch.randint(6, t + 1, (n,))
    ids[torch.arange(t)[None] >= lengths[:, None]] = 0
    return ids, y


torch.manual_seed(0)
net = DocNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for it in range(150):
    ids, y = docs()
    loss = nn.functional.cross_entropy(net(ids), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(it, loss.item())
