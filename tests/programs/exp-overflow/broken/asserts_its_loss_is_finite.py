import torch
from torch import nn


def log_cosh(error):
    return torch.log(torch.cosh(error)).mean()  # <- exp-overflow


torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
data = [torch.randn(8, 4) for _ in range(20)]
data[13][5] *= 300
for x in data:
    target = x.sum(1, keepdim=True) * 3
    loss = log_cosh(model(x) - target)
    assert torch.isfinite(loss), "loss must be finite"
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
