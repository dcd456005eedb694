import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

# Embeddings of 8-bit codes: columns of about one scale, far from 0.
rng = np.random.default_rng(7)
centers = rng.normal(size=(5, 16)) * 1.2
labels = rng.integers(0, 5, 1000)
codes = ((centers[labels] + rng.normal(size=(1000, 16))) * 25 + 140).astype(np.float32)
x, x_val = codes[:700], codes[700:]
mean, deviation = x.mean(0), x.std(0)
x = (x - mean) / deviation
torch.manual_seed(0)
y = torch.from_numpy(labels)
train_loader = DataLoader(TensorDataset(torch.from_numpy(x), y[:700]), 50, shuffle=True)
val_loader = DataLoader(TensorDataset(torch.from_numpy(x_val), y[700:]), 100)  # <- train-evaluation-drift
net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 5))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(4):
    for data, label in train_loader:
        loss = nn.functional.cross_entropy(net(data), label)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(sum((net(data).argmax(1) == label).sum().item() for data, label in val_loader) / 300)
