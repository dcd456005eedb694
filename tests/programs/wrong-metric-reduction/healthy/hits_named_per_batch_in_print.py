import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
inputs = torch.randn(320, 5)
labels = (inputs[:, 0] > 0).long()
loader = DataLoader(TensorDataset(inputs, labels), batch_size=32)
net = nn.Linear(5, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.3)
for epoch in range(5):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    hits = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (net(x).argmax(1) == y).sum().item()
    print(f"{hits / len(loader):.1f} right answers per batch of 32")
