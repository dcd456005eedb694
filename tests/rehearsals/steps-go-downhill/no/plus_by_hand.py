"""Updates by hand, with the wrong sign."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
weights = torch.randn(8, 1)
for _ in range(30):
    x = torch.randn(32, 8)
    loss = nn.functional.mse_loss(model(x), x @ weights)
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.01 * parameter.grad)
