import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self, widths=(4, 8, 2)):
        super().__init__()
        self.layers = [nn.Linear(a, b) for a, b in zip(widths, widths[1:])]  # <- unregistered-submodules

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x


net = Net()
opt = torch.optim.Adam(net.parameters())
for i in range(6):
    loss = net(torch.randn(8, 4)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
