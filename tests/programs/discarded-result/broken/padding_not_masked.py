import torch
from torch import nn

torch.manual_seed(0)


class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.head = nn.Linear(16, 2)

    def forward(self, tokens):
        padding = tokens == 0
        h = self.embed(tokens)
        h.masked_fill(padding.unsqueeze(-1), 0.0)  # <- discarded-result
        return self.head(h.sum(dim=1) / (~padding).sum(dim=1, keepdim=True))


tokens = torch.randint(1, 20, (64, 12))
lengths = torch.randint(3, 13, (64,))
tokens[torch.arange(12)[None] >= lengths[:, None]] = 0
labels = (tokens == 7).any(dim=1).long()
model = Pooled()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    for rows in torch.arange(64).split(16):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(tokens[rows]), labels[rows])
        loss.backward()
        optimizer.step()
