import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
criterion = nn.SmoothL1Loss()
for step in range(40):
    x = torch.randn(20, 3)
    y = x[:, 0] * 2 + 1
    prediction = net(x)
    loss = criterion(prediction, y)  # <- broadcast-in-loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
