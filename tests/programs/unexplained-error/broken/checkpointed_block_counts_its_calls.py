import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Linear(width, width)
        self.b = nn.Linear(width, width)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        h = torch.relu(self.a(x))
        if self.calls % 2 == 1:
            h = h + torch.tanh(self.b(h))
        return x + h


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(16) for _ in range(3))
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.head(x)


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
x, y = torch.randn(32, 16), torch.randint(0, 2, (32,))
for step in range(4):
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()  # <- unexplained-error
    opt.step()
