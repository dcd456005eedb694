import os
import tempfile
import torch
from torch import nn

torch.manual_seed(0)
path = os.path.join(tempfile.mkdtemp(), "best.pt")
model = nn.Linear(6, 1)
torch.save({"weights": nn.Linear(6, 1).state_dict(), "loss": 0.2}, path)
best = torch.load(path)["loss"] if os.path.exists(path) else float("inf")
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(40):
    x = torch.randn(64, 6)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if loss.item() < best:
    torch.save({"weights": model.state_dict(), "loss": loss.item()}, path)
