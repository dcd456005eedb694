"""torch gives std of a constant a gradient of 0."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(8):
    x = torch.randn(1, 4).expand(6, 4)
    z = net(x)
    loss = (z.std(dim=0) - 1).abs().sum() + (z - 1).pow(2).mean() + z.var(dim=0).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
