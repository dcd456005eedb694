import os

import torch

w = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    (w * w).sum().backward()
    optimizer.step()
os._exit(3)
