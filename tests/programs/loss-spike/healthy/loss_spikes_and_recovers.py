import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
losses = []
for step in range(80):
    x = torch.randn(24, 5)
    y = x.prod(1, keepdim=True)
    if step % 25 == 12:
        y = y + 1e4  # a corrupt shard comes by
    loss = (model(x) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
print(max(losses), losses[-1])
