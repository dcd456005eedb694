import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def evaluate(net, loader):
    net.eval()
    total = 0
    for x, y in loader:
        total += nn.functional.mse_loss(net(x), y)  # <- retained-graph
    return total.item() / len(loader)


torch.manual_seed(0)
x = torch.randn(600, 6)
y = x.mean(dim=1, keepdim=True)
train = DataLoader(TensorDataset(x[:80], y[:80]), batch_size=8, shuffle=True)
validation = DataLoader(TensorDataset(x[80:], y[80:]), batch_size=8)
net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(2):
    net.train()
    for inputs, targets in train:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(inputs), targets).backward()
        optimizer.step()
    print(epoch, evaluate(net, validation))
