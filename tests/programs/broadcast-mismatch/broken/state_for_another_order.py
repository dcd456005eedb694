"""The hidden state is made for batch × sequence, the recurrent layer takes sequence × batch."""

import torch
from torch import nn

rnn = nn.GRU(4, 8)
head = nn.Linear(8, 1)
optimizer = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
for _ in range(3):
    x = torch.randn(16, 10, 4)
    state = torch.zeros(1, 16, 8)
    out, state = rnn(x, state)  # <- broadcast-mismatch
    loss = head(out).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
