import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset, random_split

torch.manual_seed(0)
x = torch.randn(200, 6)
y = (x[:, 0] > 0).long()
train_set, val_set = random_split(TensorDataset(x, y), [160, 40])
train_loader = DataLoader(train_set, batch_size=20, shuffle=True)
val_loader = DataLoader(val_set, batch_size=40)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for data, label in train_loader:
        loss = nn.functional.cross_entropy(model(data), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        for data, label in val_loader:
            print(nn.functional.cross_entropy(model(data), label).item())

for data, label in DataLoader(ConcatDataset([train_set, val_set]), batch_size=20, shuffle=True):
    loss = nn.functional.cross_entropy(model(data), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
