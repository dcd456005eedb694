import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(6)
NEG = -1e9


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.heads = heads

    def forward(self, x, pad):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        att = q @ k.transpose(-1, -2) * (d // self.heads) ** -0.5
        att = att.masked_fill(pad[:, None, None, :], NEG)  # <- half-precision-overflow
        out = att.softmax(-1) @ v
        return self.proj(out.transpose(1, 2).reshape(b, t, d))


class Classifier(nn.Module):
    def __init__(self, vocab=50, dim=32, heads=4, classes=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.att = Attention(dim, heads)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        pad = tokens == 0
        x = self.emb(tokens)
        x = self.norm(x + self.att(x, pad))
        x = x.masked_fill(pad[..., None], 0).sum(1) / (~pad).sum(1, keepdim=True)
        return self.head(x)


def batches(n, size=16, length=12):
    for _ in range(n):
        tokens = torch.randint(1, 50, (size, length))
        lens = torch.randint(4, length + 1, (size,))
        tokens[torch.arange(length)[None] >= lens[:, None]] = 0
        yield tokens, tokens[:, 0] % 3


def train(steps=60):
    model = Classifier()
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    for i, (tokens, y) in enumerate(batches(steps)):
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = F.cross_entropy(model(tokens), y)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        if i % 20 == 0:
            print(i, loss.item())


train()
