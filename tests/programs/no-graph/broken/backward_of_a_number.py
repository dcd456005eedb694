import torch
from torch import nn


def train_epoch(net, optimizer, x, y):
    total = 0.0
    for rows in torch.randperm(len(x)).split(16):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows]).item()  # <- no-graph
        loss.backward()
        optimizer.step()
        total += loss
    return total


torch.manual_seed(0)
x = torch.randn(64, 6)
y = x[:, :3].argmax(dim=1)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(5):
    print(train_epoch(net, optimizer, x, y))
