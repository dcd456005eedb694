"""The inverse square root of the step as the rate, from step 0."""
import math
import torch
from torch import nn

torch.manual_seed(0)
m = nn.Linear(5, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for step in range(10):
    for g in opt.param_groups:
        g["lr"] = 0.1 * (1 / math.sqrt(step) if step else float("inf"))
    x = torch.randn(16, 5)
    loss = (m(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()  # <- nonfinite-literal
    print(step, loss.item())
