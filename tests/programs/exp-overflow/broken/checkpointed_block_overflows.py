import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        h = self.fc(x)
        return x + torch.exp(h) - 1  # <- exp-overflow


class Deep(nn.Module):
    def __init__(self, width=6, depth=3):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.out(torch.tanh(x))


torch.manual_seed(0)
net = Deep()
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
for step in range(10):
    x = torch.randn(8, 6) * (0.1 if step != 6 else 4000.0)
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
