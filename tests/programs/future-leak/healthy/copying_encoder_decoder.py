import torch
from torch import nn


class Copier(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Embedding(9, width)
        self.transformer = nn.Transformer(width, 2, 1, 1, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, 9)

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1])
        return self.head(self.transformer(self.embed(src), self.embed(tgt), tgt_mask=mask))


torch.manual_seed(0)
model = Copier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(12):
    words = torch.randint(0, 9, (6, 10))
    logits = model(words, words[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), words[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
