import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.Sigmoid(), nn.Linear(32, 32), nn.Sigmoid(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(300):
    x = torch.randn(64, 8)
    y = (x[:, :1] + x[:, 1:2] > 0).float()
    loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
