import torch
from torch import nn

net = nn.Linear(4, 1)
optimizer = torch.optim.Adam(net.parameters())
for step in range(3):
    loss = net(torch.randn(2, 4 + step // 2)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, flush=True)
