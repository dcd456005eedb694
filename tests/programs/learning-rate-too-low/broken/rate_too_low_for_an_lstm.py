"""An LSTM that continues sequences; the rate of Adam is a million times too low."""
import torch
from torch import nn

torch.manual_seed(0)
emb, rnn, out = nn.Embedding(20, 32), nn.LSTM(32, 32), nn.Linear(32, 20)
params = [*emb.parameters(), *rnn.parameters(), *out.parameters()]
opt = torch.optim.Adam(params, lr=1e-9)  # <- learning-rate-too-low
for i in range(100):
    seq = ((torch.randint(20, (1, 16)) + torch.arange(10)[:, None]) % 20)
    h, _ = rnn(emb(seq[:-1]))
    loss = nn.functional.cross_entropy(out(h).flatten(0, 1), seq[1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
