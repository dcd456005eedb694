import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 3)
y = x.sum(1, keepdim=True)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=1.0)  # <- momentum-too-high
for i in range(100):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
