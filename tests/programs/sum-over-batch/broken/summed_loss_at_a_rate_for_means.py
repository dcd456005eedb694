import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(500, 6)
Y = X.sum(1, keepdim=True) + 0.1 * torch.randn(500, 1)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.005)
criterion = nn.MSELoss(reduction="sum")  # <- sum-over-batch
for e in range(5):
    for xb, yb in DataLoader(TensorDataset(X, Y), 100, shuffle=True):
        loss = criterion(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(e, loss.item())
