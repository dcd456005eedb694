# Attention with relative positions: a view of the padded scores shifts each row by one more than the row before.
import torch, torch.nn as nn, torch.nn.functional as F

torch.manual_seed(0)


class RelAttention(nn.Module):
    def __init__(self, d=16, h=2):
        super().__init__()
        self.h = h
        self.q = nn.Linear(d, d)
        self.k = nn.Linear(d, d)
        self.v = nn.Linear(d, d)
        self.r = nn.Parameter(torch.randn(h, 9, d // h) * 0.1)

    def rel_shift(self, x):
        b, h, t, s = x.shape
        x = F.pad(x, (1, 0))
        x = x.view(b, h, s + 1, t)
        return x[:, :, 1:].reshape(b, h, t, s)

    def forward(self, x):
        b, t, d = x.shape
        q = self.q(x).view(b, t, self.h, -1).transpose(1, 2)
        k = self.k(x).view(b, t, self.h, -1).transpose(1, 2)
        v = self.v(x).view(b, t, self.h, -1).transpose(1, 2)
        bd = self.rel_shift(torch.einsum("bhtd,hsd->bhts", q, self.r[:, :t]))
        a = (q @ k.transpose(-1, -2) + bd) / (d // self.h) ** 0.5
        mask = torch.ones(t, t).triu(1).bool()
        o = F.softmax(a.masked_fill(mask, float("-inf")), -1) @ v
        return o.transpose(1, 2).reshape(b, t, d)


emb = nn.Embedding(11, 16)
att = RelAttention()
head = nn.Linear(16, 11)
opt = torch.optim.Adam([*emb.parameters(), *att.parameters(), *head.parameters()], 3e-3)
for i in range(150):
    s = torch.randint(0, 11, (8, 1))
    x = (s + torch.arange(10)) % 11
    loss = F.cross_entropy(head(att(emb(x[:, :-1]))).reshape(-1, 11), x[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
