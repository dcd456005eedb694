# every weight drawn with a standard deviation of 1, in layers of 64 inputs
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 64)
y = x[:, :4].argmax(1)
net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
for parameter in net.parameters():
    nn.init.normal_(parameter)
opt = torch.optim.SGD(net.parameters(), lr=1e-4)
for step in range(26):
    rows = torch.randint(0, 256, (32,))
    loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
