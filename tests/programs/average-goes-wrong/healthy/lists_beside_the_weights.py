import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 8)
y = torch.sin(x[:, :1]) + x[:, 1:2]
net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
start = [p.detach().clone() for p in net.parameters()]
slow = [p.detach().clone() for p in net.parameters()]
squares = [torch.zeros_like(p) for p in net.parameters()]
for step in range(80):
    rows = torch.randint(0, 256, (32,))
    loss = nn.functional.mse_loss(net(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    before = [p.detach().clone() for p in net.parameters()]
    with torch.no_grad():
        for square, p in zip(squares, net.parameters()):
            square.mul_(0.9).addcmul_(p.grad, p.grad, value=0.1)
    optimizer.step()
    with torch.no_grad():
        if step % 5 == 4:
            for s, p in zip(slow, net.parameters()):
                s.add_(p - s, alpha=0.5)
                p.copy_(s)
moved = sum((a - b).norm().item() for a, b in zip(start, net.parameters()))
print(loss.item(), moved, sum((a - b).norm().item() for a, b in zip(before, net.parameters())))
