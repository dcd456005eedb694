import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(0)
x = torch.randn(200, 6)
y = (x[:, 0] > 0).long()
dataset = TensorDataset(x, y)
for fold in range(3):
    held = set(range(fold, 200, 3))
    train_loader = DataLoader(Subset(dataset, [i for i in range(200) if i not in held]), 20, shuffle=True)
    val_loader = DataLoader(Subset(dataset, sorted(held)), 40)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        for data, label in train_loader:
            loss = nn.functional.cross_entropy(model(data), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            print(sum(nn.functional.cross_entropy(model(a), b).item() for a, b in val_loader))
