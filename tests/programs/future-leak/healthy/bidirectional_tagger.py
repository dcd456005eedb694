import torch
from torch import nn

torch.manual_seed(0)
embed, tagger = nn.Embedding(10, 8), nn.LSTM(8, 8, batch_first=True, bidirectional=True)
head = nn.Linear(16, 3)
modules = nn.ModuleList([embed, tagger, head])
optimizer = torch.optim.Adam(modules.parameters(), lr=1e-2)
for step in range(12):
    words = torch.randint(0, 10, (8, 9))
    tags = (words + words.roll(-1, 1)) % 3  # depends on the next word
    logits = head(tagger(embed(words))[0])
    loss = nn.functional.cross_entropy(logits.transpose(1, 2), tags)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
