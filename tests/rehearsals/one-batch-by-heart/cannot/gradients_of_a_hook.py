"""A hook scales gradients, so a copy would learn otherwise."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 1)
model.weight.register_hook(lambda gradient: 0.1 * gradient)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(30):
    x = torch.randn(16, 6)
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
