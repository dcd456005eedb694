# running statistics follow the batches; dropout is the same in both modes
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 6)
y = (x[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
for step in range(26):
    rows = torch.randint(0, 256, (32,))
    loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
