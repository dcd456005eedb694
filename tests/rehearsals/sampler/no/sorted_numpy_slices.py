import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)
y = np.repeat(np.arange(4), 100)
X = rng.normal(size=(400, 6)) + 2 * np.eye(6)[y]
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
for epoch in range(4):
    for i in range(0, len(X), 20):
        batch = torch.tensor(X[i : i + 20], dtype=torch.float32)
        loss = nn.functional.cross_entropy(net(batch), torch.from_numpy(y[i : i + 20]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
