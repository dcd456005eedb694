import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=2e-4, momentum=0.99)
tot = 0.0
for i in range(800):
    x = torch.randn(2, 4)
    y = x @ torch.tensor([[1.0], [2.0], [-1.0], [0.5]]) + 1.0 * torch.randn(2, 1)
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    tot += loss.item()
    if i % 100 == 99:
        print(i, tot / 100)
        tot = 0.0
print(net.weight.tolist())
