import torch
from torch import nn


class ResNetish(nn.Module):
    def __init__(self, widths=(16, 32, 48)):
        super().__init__()
        self.stem = nn.Conv2d(3, widths[0], 3, padding=1)
        self.layer1 = self._layer(widths[0], widths[1])
        self.layer2 = self._layer(widths[0], widths[2])  # <- channel-mismatch
        self.fc = nn.Linear(widths[2], 5)

    def _layer(self, cin, cout):
        return nn.Sequential(nn.Conv2d(cin, cout, 3, stride=2, padding=1), nn.BatchNorm2d(cout), nn.ReLU())

    def forward(self, x):
        x = self.layer2(self.layer1(self.stem(x)))
        return self.fc(x.mean((2, 3)))


net = ResNetish()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    loss = nn.functional.cross_entropy(net(torch.randn(8, 3, 16, 16)), torch.randint(0, 5, (8,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
