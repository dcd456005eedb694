import torch
from torch import nn
import torch.nn.functional as F


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(-1, 16 * 5 * 5)  # <- reshape-size-mismatch
        return self.fc2(F.relu(self.fc1(x)))


net = LeNet()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(3):
    x, y = torch.randn(6, 3, 28, 28), torch.randint(0, 10, (6,))
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    opt.step()
