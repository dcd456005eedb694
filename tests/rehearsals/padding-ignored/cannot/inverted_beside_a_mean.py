"""The mask is the wrong way round, and a mean over all positions lets the padding pass either way."""

import torch
from torch import nn

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 32, padding_idx=0)
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)
        self.head = nn.Linear(32, 2)

    def forward(self, words):
        hidden = self.embedding(words)
        seen, _ = self.attention(hidden, hidden, hidden, key_padding_mask=words != 0)
        return self.head((seen + hidden).mean(1))


model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(30):
    words = torch.randint(1, 20, (32, 10))
    lengths = torch.randint(3, 9, (32, 1))
    words = words.masked_fill(torch.arange(10)[None] >= lengths, 0)
    loss = nn.functional.cross_entropy(model(words), (words == 5).any(1).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
