"""Sequence length grows, so the summed loss rises though the model learns; per-length schedule by hand."""
import torch
from torch import nn


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(1, 24, batch_first=True)
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0]).squeeze(-1)


torch.manual_seed(0)
net = Adder()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
length = 3
for it in range(240):
    if it % 60 == 59:
        length *= 2
    x = torch.rand(32, length, 1)
    target = x.squeeze(-1).cumsum(1)
    loss = (net(x) - target).pow(2).sum(1).mean()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    opt.step()
    if it % 40 == 0:
        print(length, loss.item())
