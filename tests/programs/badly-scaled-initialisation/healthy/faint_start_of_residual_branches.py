import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)
        for layer in (self.a, self.b):
            nn.init.normal_(layer.weight, std=1e-4)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        return x + self.b(torch.relu(self.a(x)))


torch.manual_seed(26)
net = nn.Sequential(nn.Linear(16, 64), *[Block(64) for _ in range(4)], nn.Linear(64, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(256, 16)
y = x[:, :4].argmax(1)
for epoch in range(20):
    for i in range(0, 256, 32):
        loss = nn.functional.cross_entropy(net(x[i:i + 32]), y[i:i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
