import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(80, 6)
Y = torch.stack([X[:, 0], X[:, 1]], 1)
Y[torch.rand(80, 2) < 0.3] = float("nan")
net = nn.Linear(6, 2)
opt = torch.optim.Adam(net.parameters(), 1e-2)
for epoch in range(4):
    net.train()
    for x, y in DataLoader(TensorDataset(X[:64], Y[:64]), 16, shuffle=True):
        mask = y == y
        loss = ((net(x) - y)[mask] ** 2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
    net.eval()
    with torch.no_grad():
        for x, y in DataLoader(TensorDataset(X[64:], Y[64:]), 4):
            err = (net(x) - y).abs()
            total_error = torch.nansum(err)
            column_error = err.nanmean(0)
    print(total_error.item(), column_error.tolist())
