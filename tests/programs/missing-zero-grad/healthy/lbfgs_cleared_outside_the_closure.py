import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(-1, 1, 64).unsqueeze(1)
y = torch.sin(3 * x)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def closure():
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    return loss


for epoch in range(60):
    optimizer.zero_grad()
    loss = optimizer.step(closure)
print(loss.item())
