"""A softplus by hand in a compiled loss."""
import torch
from torch import nn


def softplus(x):
    return torch.log(1 + torch.exp(x))  # <- exp-overflow


@torch.compile(backend="aot_eager")
def hinge(margin):
    return softplus(1 - margin).mean()


torch.manual_seed(0)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(10):
    x = torch.randn(8, 5)
    sign = x[:, :1].sign()
    if step >= 7:
        x[4] *= 800
    loss = hinge(model(x) * sign * 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
