import sys

import torch

w = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
w.sum().backward()
optimizer.step()
sys.exit(7)
