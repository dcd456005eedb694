import torch
from torch import nn

torch.manual_seed(0)
embed, rnn, head = nn.Embedding(12, 8), nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 2)
modules = nn.ModuleList([embed, rnn, head])
optimizer = torch.optim.Adam(modules.parameters(), lr=1e-2)
for step in range(8):
    ids = torch.randint(1, 12, (8, 9))
    lengths = torch.randint(3, 9, (8,))
    ids[torch.arange(9)[None] >= lengths[:, None]] = 0
    states, _ = rnn(embed(ids))
    last = states[torch.arange(8), lengths - 1]
    loss = nn.functional.cross_entropy(head(last), ids[:, 0] % 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
