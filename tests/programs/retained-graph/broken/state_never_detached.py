import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 8, bias=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
state = torch.zeros(16, 8)
for step in range(40):
    state = 0.5 * state + net(torch.randn(16, 4))  # <- retained-graph
    loss = (state - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
