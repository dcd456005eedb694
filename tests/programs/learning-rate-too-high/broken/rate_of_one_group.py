import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(8, 16), nn.Linear(16, 1)
opt = torch.optim.SGD([{"params": body.parameters()}, {"params": head.parameters(), "lr": 50.0}], lr=0.01)  # <- learning-rate-too-high
x = torch.randn(64, 8)
y = x.mean(1, keepdim=True)
for it in range(60):
    loss = (head(torch.tanh(body(x))) - y).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
