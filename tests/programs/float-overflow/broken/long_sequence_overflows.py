"""A scalar recurrence that multiplies its state by 9: the sequence of 50 steps is too long for float32."""
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(9.0))
        self.u = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        h = torch.zeros(x.shape[0])
        for t in range(x.shape[1]):
            h = self.w * h + self.u * x[:, t]  # <- float-overflow
        return h


torch.manual_seed(0)
cell = Cell()
optimizer = torch.optim.SGD(cell.parameters(), lr=1e-3)
for step, length in enumerate([5, 8, 10, 12, 50]):
    x = torch.randn(4, length) * 0.01
    loss = torch.log1p(cell(x).abs()).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(cell.parameters(), 1.0)
    optimizer.step()
