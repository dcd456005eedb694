import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(300, 6)
labels = (x[:, 0] > 0.5).long() + (x[:, 1] > 1).long()
counts = torch.bincount(labels, minlength=3).float()
weights = 1 - counts / counts.mean()
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
criterion = nn.CrossEntropyLoss(weight=weights)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(60):
    rows = torch.randint(0, 300, (64,))
    loss = criterion(model(x[rows]), labels[rows])  # <- impossible-loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
