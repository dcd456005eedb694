import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(200, 6)
y = (x[:, 0] > 0).long()
dataset = TensorDataset(x, y)
train_loader = DataLoader(dataset, batch_size=24, shuffle=True, drop_last=True)
val_loader = DataLoader(dataset, batch_size=50)  # how well the training data are learned
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
