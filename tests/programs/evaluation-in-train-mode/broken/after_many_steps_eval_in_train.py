import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(1600, 8)
Y = (X[:, 0] > 0).long()
train = DataLoader(TensorDataset(X[:1400], Y[:1400]), batch_size=20, shuffle=True)
val = DataLoader(TensorDataset(X[1400:], Y[1400:]), batch_size=50)
model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    for a, b in train:
        opt.zero_grad()
        nn.functional.cross_entropy(model(a), b).backward()
        opt.step()
    right = 0
    with torch.no_grad():
        for a, b in val:
            right += (model(a).argmax(1) == b).sum().item()  # <- evaluation-in-train-mode
    print(epoch, right / 200)
