import torch
from torch import nn


class Translator(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.source, self.target = nn.Embedding(7, width), nn.Embedding(9, width)
        self.transformer = nn.Transformer(width, 2, 1, 1, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, 9)

    def forward(self, src, tgt):
        return self.head(self.transformer(self.source(src), self.target(tgt)))  # <- future-leak


torch.manual_seed(0)
model = Translator()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(12):
    src, tgt = torch.randint(0, 7, (6, 11)), torch.randint(0, 9, (6, 10))
    logits = model(src, tgt[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
