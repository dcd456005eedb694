"""A program that first tests its own functions at the edge, with values that never meet the model."""
import torch
from torch import nn


def safe_log(x):
    return torch.log(x.clamp(min=1e-6))


def self_test():
    bad = torch.tensor([0.0, -1.0, float("inf"), float("nan")])
    assert torch.isneginf(torch.log(torch.zeros(1))).all()
    assert torch.isnan(torch.log(bad)[1])
    assert torch.isfinite(safe_log(bad[:2])).all()
    assert torch.isnan(torch.zeros(1) / torch.zeros(1)).item()


self_test()
torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(10):
    x = torch.rand(8, 3)
    loss = (model(x) - safe_log(x.prod(1, keepdim=True))).pow(2).mean()
    assert not torch.isnan(loss)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
