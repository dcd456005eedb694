import torch
from torch import nn

torch.manual_seed(0)
embed = nn.Embedding(12, 16)
layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
encoder = nn.TransformerEncoder(layer, 1)
head = nn.Linear(16, 12)
modules = nn.ModuleList([embed, encoder, head])
optimizer = torch.optim.Adam(modules.parameters(), lr=1e-3)
for step in range(12):
    ids = torch.randint(1, 12, (8, 10))
    hidden = torch.rand(8, 10) < 0.3
    hidden[:, 0] = True
    labels = ids.masked_fill(~hidden, -100)
    logits = head(encoder(embed(ids.masked_fill(hidden, 0))))
    loss = nn.functional.cross_entropy(logits.view(-1, 12), labels.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
