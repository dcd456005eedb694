import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 8)
        self.b = nn.Linear(8, 2)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


torch.manual_seed(0)
net = Net().cuda()  # <- missing-device
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(64, 4).cuda(), torch.randint(0, 2, (64,)).cuda()
for step in range(40):
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
