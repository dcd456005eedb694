"""Newton's method on a function of one variable; a gradient without an optimizer or a model."""

import torch

x = torch.tensor(3.0, requires_grad=True)
for _ in range(8):
    y = x**3 - 2 * x - 5
    (slope,) = torch.autograd.grad(y, x)
    x = (x - y / slope).detach().requires_grad_()
print(x.item(), (1 / torch.tensor(0.0)).item())
