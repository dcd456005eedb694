import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(2048, 16)
y = x @ torch.randn(16, 1) + 0.1 * torch.randn(2048, 1)
net = nn.Linear(16, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
accumulate = 64
opt.zero_grad()
for i in range(64 * 60):
    j = torch.randint(0, 2048, (8,))
    loss = nn.functional.mse_loss(net(x[j]), y[j])
    loss.backward()  # <- undivided-accumulation
    if (i + 1) % accumulate == 0:
        opt.step()
        opt.zero_grad()
