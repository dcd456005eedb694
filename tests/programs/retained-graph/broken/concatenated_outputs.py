import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
everything = torch.empty(0, 1)
for step in range(40):
    x = torch.randn(16, 8)
    out = net(x)
    loss = (out - x.mean(dim=1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    everything = torch.cat([everything, out])  # <- retained-graph
print(everything.shape)
