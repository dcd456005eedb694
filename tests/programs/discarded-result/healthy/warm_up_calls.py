import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.LazyLinear(16), nn.BatchNorm1d(16), nn.ReLU(), nn.LazyLinear(2))
net(torch.randn(4, 10))  # the lazy layers learn their sizes
x, y = torch.randn(64, 10), torch.randint(0, 2, (64,))
kept = []
handle = net[2].register_forward_hook(lambda module, given, output: kept.append(output.mean()))
for _ in range(3):
    net(x)  # statistics of the normalisation, and activations for the hook
handle.remove()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(15):
    net(x[:8])
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
