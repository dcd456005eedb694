"""A buffer that is no buffer stays on the CPU when the model moves."""

import torch
import toy_device  # noqa: F401 - registers the device
from torch import nn


class Shifted(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.shift = torch.ones(4)

    def forward(self, values):
        return self.layer(values) + self.shift  # <- device-mismatch


torch.manual_seed(0)
model = Shifted().to("toy")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    loss = model(torch.randn(8, 4).to("toy")).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
