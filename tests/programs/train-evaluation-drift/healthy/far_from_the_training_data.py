import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

# How does the model do far from its training data? On purpose, and evaluated on nothing else.
torch.manual_seed(0)
x, far = torch.randn(600, 16), torch.randn(100, 16) * 4 + 10
weight = torch.randn(16, 1)
train_loader = DataLoader(TensorDataset(x, x @ weight), 50, shuffle=True)
far_loader = DataLoader(TensorDataset(far, far @ weight), 50)
net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(4):
    for data, target in train_loader:
        loss = nn.functional.mse_loss(net(data), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(sum(nn.functional.mse_loss(net(data), target).item() for data, target in far_loader))
