import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
totals = {"data": 0.0, "penalty": 0.0}
for step in range(50):
    x = torch.randn(16, 8)
    loss = (net(x) - x.mean(dim=1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    totals["data"] += loss  # <- retained-graph
    totals["penalty"] += 1.0
print({name: float(value) for name, value in totals.items()})
