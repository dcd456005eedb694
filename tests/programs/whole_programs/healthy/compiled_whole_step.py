import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)


@torch.compile(backend="aot_eager")
def step(x, y):
    optimizer.zero_grad()
    loss = (net(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    return loss


for number in range(60):
    x = torch.randn(32, 6)
    loss = step(x, x.sum(1, keepdim=True))
    if number % 20 == 0:
        print(number, loss.item())
