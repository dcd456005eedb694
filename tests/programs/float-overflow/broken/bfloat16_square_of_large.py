"""bfloat16 has float32's range, so the square of 1e20 is too much for both."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(10):
    x = torch.randn(8, 6)
    if step == 7:
        x[0] *= 1e20
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(x)
        energy = out * out  # <- float-overflow
    loss = energy.float().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
