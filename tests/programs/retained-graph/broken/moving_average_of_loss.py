import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
average = 0.0
for step in range(50):
    x = torch.randn(16, 8)
    loss = (net(x) - x.mean(dim=1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average = 0.9 * average + 0.1 * loss  # <- retained-graph
    if step % 10 == 0:
        print(step, average.item())
