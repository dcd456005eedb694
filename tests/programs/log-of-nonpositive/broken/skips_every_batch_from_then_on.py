"""The program skips bad losses, but a learned scale has gone below zero and every later loss is bad."""
import torch
from torch import nn


class Likelihood(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(3, 1)
        self.scale = nn.Parameter(torch.tensor(0.3))

    def forward(self, x, y):
        error = (self.mean(x) - y).abs()
        return (error * 0.1 + torch.log(self.scale) + self.scale).mean()  # <- log-of-nonpositive


torch.manual_seed(0)
model = Likelihood()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
skipped = 0
for step in range(80):
    x = torch.randn(16, 3)
    loss = model(x, x.sum(1, keepdim=True)) * (3.0 if step < 70 else 1.0)
    if torch.isnan(loss) or torch.isinf(loss):
        skipped += 1
        continue
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("skipped", skipped)
