import torch
from torch import nn


class Log:
    losses = []


def train_step(net, optimizer):
    x = torch.randn(16, 8)
    loss = (net(x) - x.mean(dim=1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    Log.losses.append(loss)  # <- retained-graph


torch.manual_seed(0)
net = nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(40):
    train_step(net, optimizer)
print(len(Log.losses))
