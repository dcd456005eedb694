"""LSTM language model by hand; gradients are clipped once the step has been made."""
import torch
from torch import nn

torch.manual_seed(0)
cell = nn.LSTMCell(8, 32)
emb, out = nn.Embedding(15, 8), nn.Linear(32, 15)
params = [p for m in (cell, emb, out) for p in m.parameters()]
opt = torch.optim.SGD(params, lr=0.5)
for it in range(60):
    seq = (torch.arange(12) * 2 + torch.randint(15, (16, 1))) % 15
    h = c = torch.zeros(16, 32)
    loss = 0
    for t in range(11):
        h, c = cell(emb(seq[:, t]), (h, c))
        loss = loss + nn.functional.cross_entropy(out(h), seq[:, t + 1])
    loss = loss / 11
    loss.backward()
    opt.step()  # <- missing-zero-grad
    nn.utils.clip_grad_norm_(params, max_norm=0.25)
    if it % 20 == 0:
        print(it, loss.item())
