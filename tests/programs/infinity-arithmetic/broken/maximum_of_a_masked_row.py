import torch
import torch.nn as nn

torch.manual_seed(0)
emb = nn.Embedding(50, 16)
norm = nn.LayerNorm(16)
fc = nn.Linear(16, 2)
opt = torch.optim.Adam([*emb.parameters(), *norm.parameters(), *fc.parameters()], lr=1e-3)
tokens = torch.randint(1, 50, (64, 12))
lengths = torch.randint(1, 13, (64,))
lengths[41] = 0
labels = torch.randint(0, 2, (64,))
positions = torch.arange(12)
for step in range(16):
    i = (step % 8) * 8
    mask = positions[None] < lengths[i : i + 8, None]
    h = emb(tokens[i : i + 8]).masked_fill(~mask[..., None], float("-inf"))
    pooled = h.max(dim=1).values
    loss = nn.functional.cross_entropy(fc(norm(pooled)), labels[i : i + 8])  # <- infinity-arithmetic
    opt.zero_grad()
    loss.backward()
    opt.step()
