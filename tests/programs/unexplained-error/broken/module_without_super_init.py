import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        self.a = nn.Linear(4, 2)  # <- unexplained-error

    def forward(self, x):
        return self.a(x)


net = Net()
opt = torch.optim.Adam(net.parameters())
for i in range(6):
    loss = net(torch.randn(8, 4)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
