# A counter returns its running total, which is assigned in each batch.
import torch
from torch import nn


class Hits:
    def __init__(self):
        self.total = 0

    def add(self, predicted, labels):
        self.total += (predicted.argmax(1) == labels).sum().item()
        return self.total


torch.manual_seed(0)
x = torch.randn(400, 6)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    for rows in torch.randperm(320).split(32):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    hits = Hits()
    right, total, count = 0, 0.0, 0
    with torch.no_grad():
        for rows in torch.arange(320, 400).split(20):
            out = model(x[rows])
            total += nn.functional.cross_entropy(out, y[rows]).item() * len(rows)
            right = hits.add(out, y[rows])
            count += len(rows)
    print(epoch, total / count, right / count)
