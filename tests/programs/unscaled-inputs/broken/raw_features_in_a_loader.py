import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
features = torch.rand(200, 5) * torch.tensor([5000.0, 3000.0, 8000.0, 1000.0, 2000.0])
target = (features[:, :1] / 5000 + features[:, 1:2] / 3000)
loader = DataLoader(TensorDataset(features, target), batch_size=20, shuffle=True)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(5):
    for xb, yb in loader:
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(xb), yb)  # <- unscaled-inputs
        loss.backward()
        opt.step()
