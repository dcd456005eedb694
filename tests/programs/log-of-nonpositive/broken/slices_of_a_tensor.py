import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.rand(512, 8) + 0.1
x[201, 3] = -1.0
loader = DataLoader(TensorDataset(x, torch.randn(512, 1)), batch_size=32, shuffle=True)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(3):
    for i in range(0, 512, 32):
        xb, yb = x[i:i+32], x[i:i+32, :1]
        loss = nn.functional.mse_loss(net(xb.log()), yb)  # <- log-of-nonpositive
        opt.zero_grad()
        loss.backward()
        opt.step()
