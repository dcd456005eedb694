"""Some batches are broken on purpose, and the program drops them before backward."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
skipped = 0
for step in range(40):
    x = torch.randn(8, 4)
    if step in (5, 17, 18, 30):
        x[2] = float("nan")  # a sensor dropped out
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    if not torch.isfinite(loss):
        skipped += 1
        continue
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"skipped {skipped} of 40, loss {loss.item():.3f}")
