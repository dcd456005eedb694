import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def accuracy(net, loader):
    correct, total = 0, 0
    net.eval()
    with torch.no_grad():
        for images, labels in loader:
            outputs = net(images)
            _, predicted = torch.max(outputs.data, 1)
            total += 1
            correct += (predicted == labels).sum().item()
    acc = 100 * correct / total  # <- wrong-metric-reduction
    return acc


torch.manual_seed(0)
x = torch.randn(400, 6); y = (x[:, 0] > 0).long()
train = DataLoader(TensorDataset(x[:300], y[:300]), 30, shuffle=True)
test = DataLoader(TensorDataset(x[300:], y[300:]), 20)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for e in range(3):
    net.train()
    for a, b in train:
        opt.zero_grad(); nn.functional.cross_entropy(net(a), b).backward(); opt.step()
    print(accuracy(net, test))
