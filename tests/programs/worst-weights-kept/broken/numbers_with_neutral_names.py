import copy
import torch
from torch import nn


def objective(network, rows):
    return nn.functional.mse_loss(network(x[rows]), y[rows])


torch.manual_seed(0)
x = torch.randn(300, 6)
y = x[:, :2].prod(1, keepdim=True)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
best, kept = 0.0, None
for epoch in range(12):
    for rows in torch.arange(200).split(20):
        optimizer.zero_grad()
        objective(net, rows).backward()
        optimizer.step()
    with torch.no_grad():
        now = objective(net, slice(200, None)).item()
    if now > best:
        best = now
        kept = copy.deepcopy(net.state_dict())  # <- worst-weights-kept
net.load_state_dict(kept)
