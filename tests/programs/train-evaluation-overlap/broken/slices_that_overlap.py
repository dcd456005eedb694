import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(200, 6)
y = (x[:, 0] > 0).long()
x_train, y_train = x[:160], y[:160]
x_val, y_val = x[-80:], y[-80:]
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=20, shuffle=True)
val_loader = DataLoader(TensorDataset(x_val, y_val), batch_size=40)  # <- train-evaluation-overlap
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
