import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(400, 6)
y = x[:, :1]
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    rows = torch.randint(0, 400, (32,))
    loss = nn.functional.mse_loss(net(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
