"""The module is never called: methods `encode` and `classify` are."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(8, 64)
        self.bn = nn.BatchNorm1d(64)
        self.dec = nn.Linear(64, 3)

    def encode(self, x):
        return F.relu(self.bn(self.enc(x)))

    def classify(self, x):
        return self.dec(F.dropout(self.encode(x), 0.5, self.training))

    def loss(self, x, y):
        return F.cross_entropy(self.classify(x), y)


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
W = torch.randn(8, 3)
for epoch in range(6):
    for _ in range(20):
        x = torch.randn(32, 8)
        opt.zero_grad()
        net.loss(x, (x @ W).argmax(1)).backward()
        opt.step()
    with torch.no_grad():
        x = torch.randn(300, 8)
        scores = net.classify(x)  # <- evaluation-in-train-mode
        print(epoch, (scores.argmax(1) == (x @ W).argmax(1)).float().mean().item())
