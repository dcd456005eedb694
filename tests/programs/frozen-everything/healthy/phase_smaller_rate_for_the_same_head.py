"""A head on a frozen body; for the last epochs another optimizer is handed the whole model, and the body stays frozen."""

import torch
import torch.nn.functional as F
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        return self.head(self.body(x))


def epochs(net, optimizer, inputs, targets):
    for _ in range(60):
        loss = F.mse_loss(net(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


torch.manual_seed(0)
inputs = torch.randn(256, 8)
targets = inputs[:, :1] * 2 - inputs[:, 1:2]
net = Classifier()
for parameter in net.body.parameters():
    parameter.requires_grad = False
epochs(net, torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), lr=1e-2), inputs, targets)
epochs(net, torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9), inputs, targets)
