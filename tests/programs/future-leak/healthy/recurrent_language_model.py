import torch
from torch import nn

torch.manual_seed(0)
embed, rnn, head = nn.Embedding(10, 8), nn.GRU(8, 16), nn.Linear(16, 10)
modules = nn.ModuleList([embed, rnn, head])
optimizer = torch.optim.Adam(modules.parameters(), lr=1e-2)
corpus = torch.randint(0, 10, (13, 30))
for step in range(12):
    i = int(torch.randint(0, 25, (1,)))
    x, y = corpus[:12, i : i + 5], corpus[1:, i : i + 5]
    out, _ = rnn(embed(x))
    loss = nn.functional.cross_entropy(head(out).view(-1, 10), y.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
