import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(320, 5)
Y = (X[:, 0] > 0).long()
loader = DataLoader(TensorDataset(X, Y), batch_size=32)
net = nn.Linear(5, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.3)
for epoch in range(5):
    for xb, yb in loader:
        opt.zero_grad()
        nn.functional.cross_entropy(net(xb), yb).backward()
        opt.step()
    hits = 0
    queries = 0.0
    with torch.no_grad():
        for xb, yb in loader:
            hits += (net(xb).argmax(1) == yb).sum().item()
            queries += net(xb).abs().mean().item()
    # average number of right answers in a batch, on purpose; and a mean of equal batches
    per_batch = hits / len(loader)
    print("right answers per batch of 32:", per_batch, "mean size", queries / len(loader))
