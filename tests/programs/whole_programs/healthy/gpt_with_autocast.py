import math

import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(s, d, h):
        super().__init__()
        s.ln1 = nn.LayerNorm(d)
        s.ln2 = nn.LayerNorm(d)
        s.qkv = nn.Linear(d, 3 * d)
        s.o = nn.Linear(d, d)
        s.h = h
        s.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        s.drop = nn.Dropout(0.1)
        s.register_buffer("mask", torch.tril(torch.ones(16, 16)).view(1, 1, 16, 16))

    def forward(s, x):
        B, T, C = x.shape
        q, k, v = s.qkv(s.ln1(x)).split(C, 2)
        q, k, v = (t.view(B, T, s.h, C // s.h).transpose(1, 2) for t in (q, k, v))
        a = (q @ k.transpose(-2, -1)) / math.sqrt(C // s.h)
        a = a.masked_fill(s.mask[:, :, :T, :T] == 0, float("-inf")).softmax(-1)
        x = x + s.o((s.drop(a) @ v).transpose(1, 2).reshape(B, T, C))
        return x + s.mlp(s.ln2(x))


class GPT(nn.Module):
    def __init__(s):
        super().__init__()
        s.e = nn.Embedding(20, 16)
        s.p = nn.Embedding(16, 16)
        s.b = nn.Sequential(Block(16, 2), Block(16, 2))
        s.head = nn.Linear(16, 20, bias=False)
        s.head.weight = s.e.weight

    def forward(s, i, t):
        x = s.b(s.e(i) + s.p(torch.arange(i.shape[1])))
        l = s.head(x)
        return l, nn.functional.cross_entropy(l.view(-1, 20), t.reshape(-1), ignore_index=-1)


m = GPT()
opt = torch.optim.AdamW(m.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 12)
for it in range(12):
    ids = torch.randint(0, 20, (4, 13))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        _, loss = m(ids[:, :-1], ids[:, 1:])
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    opt.step()
    sched.step()
m.eval()
with torch.no_grad():
    l, _ = m(ids[:, :5], ids[:, 1:6])
    v, _ = torch.topk(l[:, -1], 5)
    z = l[:, -1].clone()
    z[z < v[:, [-1]]] = -float("inf")
    print(torch.multinomial(z.softmax(-1), 1).shape)
