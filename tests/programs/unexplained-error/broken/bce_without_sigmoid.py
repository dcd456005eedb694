import torch
from torch import nn
net = nn.Sequential(nn.Linear(5, 10), nn.ReLU(), nn.Linear(10, 1)); opt = torch.optim.Adam(net.parameters())
for _ in range(5):
    x = torch.randn(16, 5); y = (x[:, :1] > 0).float()
    loss = nn.BCELoss()(net(x), y)  # <- unexplained-error
    opt.zero_grad(); loss.backward(); opt.step()
