import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.a = nn.Linear(4, 16); self.b = nn.Linear(16, 1)
    def forward(self, x): return self.b(torch.relu(self.a(x)))
net = Net()
oa = torch.optim.SGD(net.a.parameters(), lr=0.05)
ob = torch.optim.SGD(net.b.parameters(), lr=0.05)
for step in range(40):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
    net.zero_grad()
    loss.backward()
    (oa if step % 2 else ob).step()
