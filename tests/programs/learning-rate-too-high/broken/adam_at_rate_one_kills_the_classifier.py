import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(1000, 20)
y = (x[:, :4] @ torch.randn(4, 5)).argmax(1)
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
opt = torch.optim.Adam(net.parameters(), lr=1.0)  # <- learning-rate-too-high
for epoch in range(6):
    for xb, yb in DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
