import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
nn.init.constant_(net[2].bias, -10.0)  # <- dead-units
opt = torch.optim.Adam(net.parameters(), 1e-3)
X = torch.randn(256, 10)
Y = X[:, :1] ** 2
for e in range(10):
    for i in range(0, 256, 32):
        loss = nn.functional.mse_loss(net(X[i:i + 32]), Y[i:i + 32])
        opt.zero_grad(); loss.backward(); opt.step()
