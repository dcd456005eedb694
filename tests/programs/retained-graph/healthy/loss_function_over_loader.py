import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def full_loss(net, loader):
    total = 0.0
    for x, y in loader:
        total = total + nn.functional.mse_loss(net(x), y)
    return total / len(loader)


torch.manual_seed(0)
x = torch.randn(640, 6)
loader = DataLoader(TensorDataset(x, x.mean(dim=1, keepdim=True)), batch_size=8)
net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    optimizer.zero_grad()
    objective = full_loss(net, loader)
    objective.backward()
    optimizer.step()
    print(epoch, objective.item())
