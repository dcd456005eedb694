import gc

import torch
from torch import nn

torch.manual_seed(0)
net = nn.LSTM(4, 8, batch_first=True)
head = nn.Linear(8, 1)
optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=1e-3)
hidden = None
window, text = [], torch.randn(4, 400, 4)
smooth = None
for start in range(0, 400, 10):
    x = text[:, start : start + 10]
    if hidden is not None:
        hidden = tuple(h.detach() for h in hidden)
    out, hidden = net(x, hidden)
    loss = (head(out) - x.mean(dim=2, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    window.append(loss)
    if len(window) > 5:
        window = window[1:]
    smooth = loss.item() if smooth is None else 0.9 * smooth + 0.1 * loss.item()
    gc.collect(0)
print(smooth, len(window))
