import torch
from torch import nn

torch.manual_seed(0)
enc, dec = nn.Linear(10, 4), nn.Linear(4, 10)
enc_opt = torch.optim.SGD(enc.parameters(), lr=0.05)
dec_opt = torch.optim.SGD(dec.parameters(), lr=0.05)
for step in range(120):
    x = torch.randn(32, 10)
    loss = (dec(torch.tanh(enc(x))) - x).pow(2).mean()
    enc_opt.zero_grad()
    loss.backward()
    enc_opt.step()
    dec_opt.step()  # <- missing-zero-grad
