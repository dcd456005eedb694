import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width=64, depth=5):
        super().__init__()
        sizes = [16] + [width] * depth + [4]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        for layer in self.layers:
            nn.init.normal_(layer.weight, std=1e-4)  # <- badly-scaled-initialisation
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


torch.manual_seed(26)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(256, 16)
y = x[:, :4].argmax(1)
for epoch in range(30):
    for i in range(0, 256, 32):
        loss = nn.functional.cross_entropy(net(x[i:i + 32]), y[i:i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
