"""A learning rate range test: the loss is driven up on purpose, then the weights are put back."""
import copy

import torch
from torch import nn


def range_test(model, data, low=1e-4, high=100.0, steps=30):
    kept = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=low)
    best, found = float("inf"), low
    for i in range(steps):
        rate = low * (high / low) ** (i / steps)
        optimizer.param_groups[0]["lr"] = rate
        x, y = data()
        loss = nn.functional.mse_loss(model(x), y)
        if loss.item() > 4 * best:
            break
        if loss.item() < best:
            best, found = loss.item(), rate
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.load_state_dict(kept)
    return found / 10


def data():
    x = torch.randn(32, 6)
    return x, x.sum(1, keepdim=True)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
rate = range_test(model, data)
optimizer = torch.optim.SGD(model.parameters(), lr=rate)
for _ in range(20):
    x, y = data()
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(rate, loss.item())
