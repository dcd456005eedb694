import torch
from torch import nn
from types import SimpleNamespace

cfg = SimpleNamespace(lr=0.05, momentum=1.0, steps=80)
torch.manual_seed(0)
model = nn.Linear(6, 1)
opt = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=cfg.momentum)  # <- momentum-too-high
x = torch.randn(64, 6)
y = x @ torch.randn(6, 1)
for _ in range(cfg.steps):
    loss = (model(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
