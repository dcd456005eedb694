import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
night, day = torch.rand(120, 1, 6, 6) * 0.3, 0.5 + torch.rand(60, 1, 6, 6) * 0.5
y = (night.mean(dim=(1, 2, 3)) > 0.15).long()
train_loader = DataLoader(TensorDataset(night[:90], y[:90]), batch_size=15, shuffle=True)
same_loader = DataLoader(TensorDataset(night[90:], y[90:]), batch_size=30)
other_loader = DataLoader(TensorDataset(day, torch.ones(60, dtype=torch.long)), batch_size=30)
model = nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    for data, label in train_loader:
        loss = nn.functional.cross_entropy(model(data), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        for loader in (same_loader, other_loader):
            print(sum((model(a).argmax(1) == b).sum().item() for a, b in loader))
