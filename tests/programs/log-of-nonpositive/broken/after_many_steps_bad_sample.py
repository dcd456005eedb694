import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.rand(4000, 6) + 0.1
X[3123, 2] = 0.0
y = X.sum(1, keepdim=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))

    def forward(self, x):
        return self.body(torch.log(x))  # <- log-of-nonpositive


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(X, y), batch_size=20)
total = 0.0
for epoch in range(2):
    for xb, yb in loader:
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item()
