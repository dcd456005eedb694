# One helper sets the mode for training and for tests; the last epochs train with frozen statistics.
import torch, torch.nn as nn, torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(net.parameters(), 0.1)
X = torch.randn(300, 6)
Y = (X[:, 0] > 0).long()


def set_mode(training):
    if training:
        net.train()
    else:
        net.eval()


def run(epoch):
    set_mode(epoch < 4)  # statistics are frozen for the last epochs
    for i in range(0, 240, 30):
        loss = F.cross_entropy(net(X[i : i + 30]), Y[i : i + 30])
        opt.zero_grad()
        loss.backward()
        opt.step()


def test():
    set_mode(False)
    with torch.no_grad():
        return (net(X[240:]).argmax(1) == Y[240:]).float().mean().item()


for epoch in range(8):
    run(epoch)
    print(test())
