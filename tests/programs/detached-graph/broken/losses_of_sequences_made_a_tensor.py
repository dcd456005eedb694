"""Batch loss built with torch.tensor of a list of losses."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.GRU(4, 16)
out = nn.Linear(16, 1)
opt = torch.optim.Adam([*net.parameters(), *out.parameters()], lr=1e-2)
for i in range(40):
    losses = []
    for length in (3, 5, 8):
        seq = torch.randn(length, 1, 4)
        h, _ = net(seq)
        losses.append((out(h[-1]) - seq.sum()).pow(2).mean())
    loss = torch.tensor(losses, requires_grad=True).mean()  # <- detached-graph
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 10 == 0:
        print(loss.item())
