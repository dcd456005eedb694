import torch
from torch import nn

torch.manual_seed(0)
cell, head = nn.GRUCell(3, 16), nn.Linear(16, 1)
opt = torch.optim.Adam([*cell.parameters(), *head.parameters()])
series = torch.randn(4, 60, 3)
h = torch.zeros(4, 16)
for a in range(0, 60, 10):
    chunk = series[:, a : a + 10]
    loss = 0
    for t in range(10):
        h = cell(chunk[:, t], h)  # <- graph-freed
        loss = loss + nn.functional.mse_loss(head(h), chunk[:, t].sum(-1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
