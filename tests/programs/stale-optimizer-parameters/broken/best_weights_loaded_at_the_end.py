import copy

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 8)
y = x[:, :3].argmax(dim=1)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 5))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)  # <- stale-optimizer-parameters
net[2] = nn.Linear(32, 3)
best, best_state = 1e9, None
for epoch in range(6):
    for rows in torch.randperm(192).split(32):
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        score = nn.functional.cross_entropy(net(x[192:]), y[192:]).item()
    if score < best:
        best, best_state = score, copy.deepcopy(net.state_dict())
net.load_state_dict(best_state)
