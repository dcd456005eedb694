import random

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
x = torch.randn(64, 6)
y = x[:, :3].argmax(dim=1)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(20):
    rows = torch.randint(64, (16,))
    inputs, labels = x[rows], y[rows]
    inputs = inputs if random.random() < 0.5 else inputs * 1.01
    inputs = inputs * (1.0 + 0.1 * (random.random() < 0.5))
    optimizer.zero_grad()
    with torch.no_grad():  # <- no-graph
        logits = net(inputs)
    loss = nn.functional.cross_entropy(logits, labels)
    loss.backward()
    optimizer.step()
