import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(400, 10)
coarse = (X[:, 0] > 0).long()
fine = coarse * 3 + X[:, 1:4].argmax(1)


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 20), nn.ReLU())
        self.head = nn.Linear(20, n)

    def forward(self, x):
        return self.head(self.features(x))


def epoch(net, optimizer, labels):
    losses = []
    for idx in torch.randperm(400).split(50):
        loss = nn.functional.cross_entropy(net(X[idx]), labels[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


net = Net(2)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for e in range(5):
    print("coarse", epoch(net, optimizer, coarse))

optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)  # <- stale-optimizer-parameters
net.head = nn.Linear(20, 6)
for e in range(8):
    print("fine", epoch(net, optimizer, fine))
