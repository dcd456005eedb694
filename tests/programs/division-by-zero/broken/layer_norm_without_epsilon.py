import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=0.0)
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        return x + self.fc(self.norm(x))  # <- division-by-zero


torch.manual_seed(0)
model = nn.Sequential(Block(8), Block(8), nn.Linear(8, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(12):
    x = torch.randn(6, 8)
    if step == 8:
        x[2] = 1.5  # a constant row
    loss = nn.functional.cross_entropy(model(x), torch.randint(0, 2, (6,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
