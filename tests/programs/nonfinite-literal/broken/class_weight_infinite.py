import math

import torch
import torch.nn.functional as F

torch.manual_seed(0)
m = torch.nn.Linear(4, 3)
opt = torch.optim.Adam(m.parameters(), lr=0.1)
counts = [10, 5, 0]
weights = torch.tensor([1 / c if c else math.inf for c in counts])  # <- nonfinite-literal
for step in range(6):
    x = torch.randn(6, 4)
    y = torch.tensor([0, 1, 0, 1, 0, 2])
    loss = F.cross_entropy(m(x), y, weight=weights, reduction="sum")
    opt.zero_grad()
    loss.backward()
    opt.step()
