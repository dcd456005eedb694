import torch
from torch import nn
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

torch.manual_seed(0)
x = torch.randn(200, 6)
y = (x[:, 0] > 0).long()
dataset = TensorDataset(x, y)
split = int(0.8 * len(dataset))
train_rows = torch.randperm(len(dataset))[:split].tolist()
val_rows = torch.randperm(len(dataset))[split:].tolist()
train_loader = DataLoader(dataset, batch_size=20, sampler=SubsetRandomSampler(train_rows))
val_loader = DataLoader(dataset, 40, sampler=SubsetRandomSampler(val_rows))  # <- train-evaluation-overlap
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
