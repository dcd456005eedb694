"""A step is skipped when the norm of its gradients is large, and they are cleared before the next."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
tried = 0
for step in range(60):
    x = torch.randn(32, 6)
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if norm > 5:
        tried += 1
        continue
    opt.step()
print(loss.item(), tried)
