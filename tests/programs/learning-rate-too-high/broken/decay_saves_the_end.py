import math
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
text = torch.randint(0, 16, (2000,))
text[1::2] = (text[::2] * 3 + 1) % 16


class Tiny(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed, self.place = nn.Embedding(16, width), nn.Embedding(16, width)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(width, 2, 64, 0.0, batch_first=True, norm_first=True) for _ in range(2))
        self.head = nn.Linear(width, 16)

    def forward(self, tokens):
        n = tokens.shape[1]
        mask = torch.full((n, n), -math.inf).triu(1)
        x = self.embed(tokens) + self.place(torch.arange(n))
        for block in self.blocks:
            x = block(x, mask)
        return self.head(x)


model = Tiny()
optimizer = torch.optim.AdamW(model.parameters(), lr=1.0)  # <- learning-rate-too-high
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 150)
for step in range(150):
    start = torch.randint(0, 980, (16,)) * 2
    batch = torch.stack([text[s : s + 17] for s in start])
    loss = F.cross_entropy(model(batch[:, :-1]).reshape(-1, 16), batch[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    if step % 15 == 0:
        print(step, round(loss.item(), 3))
