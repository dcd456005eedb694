import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(256, 4); y = x.sum(1, keepdim=True)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(12):
    for a, b in DataLoader(TensorDataset(x, y), 32):
        guess = net(a).squeeze(1)
        loss = ((guess - b) ** 2).mean()  # <- broadcast-in-loss
        opt.zero_grad(); loss.backward(); opt.step()
