import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(400, 12) * 5 + 8
Y = (X[:, 0] > 8).long()
tr = DataLoader(TensorDataset(X[:320], Y[:320]), batch_size=32, shuffle=True)
va = DataLoader(TensorDataset(X[320:], Y[320:]), batch_size=40)
bn = nn.BatchNorm1d(32, momentum=0.0001)  # <- stale-running-statistics
model = nn.Sequential(nn.Linear(12, 32), bn, nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    model.train()
    for x, y in tr:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        acc = sum((model(x).argmax(1) == y).sum().item() for x, y in va) / 80
    print(epoch, loss.item(), acc)
