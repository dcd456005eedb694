"""A compiled model: `torch.compile` with its default compiler, a residual network of dense layers and a schedule."""

import torch
from laps import lap
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.into, self.out = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.out(nn.functional.gelu(self.into(self.norm(x))))


x = torch.randn(2048, 32)
y = (x[:, :8].sum(1) > 0).long()
model = nn.Sequential(nn.Linear(32, 64), Block(64), Block(64), nn.Linear(64, 2))
compiled = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1500)
lap()
for step in range(1500):
    rows = torch.randint(0, 2048, (128,))
    loss = nn.functional.cross_entropy(compiled(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    lap()
    if step % 250 == 0:
        print(step, loss.item())
