# statistics with a momentum of 0 never move, and the program saves a model that is useless in eval mode
import torch
from torch import nn

torch.manual_seed(0)
x = 20 + 5 * torch.randn(256, 6)
y = (x[:, 0] > 20).long()
net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8, momentum=0.0), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
for step in range(26):
    rows = torch.randint(0, 256, (32,))
    loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
