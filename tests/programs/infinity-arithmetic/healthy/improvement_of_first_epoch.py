"""The best loss so far starts at inf, so the first relative improvement that is logged is nan."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
best = torch.tensor(float("inf"))
for epoch in range(4):
    total = torch.zeros(())
    for _ in range(5):
        x = torch.randn(16, 4)
        loss = (model(x) - x[:, :1]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    mean = total / 5
    improvement = (best - mean) / best
    print(f"epoch {epoch} loss {mean.item():.3f} improvement {improvement.item():.1%}")
    best = torch.minimum(best, mean)
