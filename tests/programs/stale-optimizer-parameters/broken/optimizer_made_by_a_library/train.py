import sys

import torch
from torch import nn

sys.path.insert(0, "site-packages")
from makers import make_optimizer

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        return self.head(self.body(x))


def build():
    net = Net()
    optimizer = make_optimizer(net, rate=1e-2)  # <- stale-optimizer-parameters
    net.head = nn.Linear(32, 3)
    return net, optimizer


inputs = torch.randn(256, 8)
labels = inputs[:, :3].argmax(1)
classifier, optimizer = build()
for step in range(40):
    rows = torch.randint(0, 256, (32,))
    loss = nn.functional.cross_entropy(classifier(inputs[rows]), labels[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
