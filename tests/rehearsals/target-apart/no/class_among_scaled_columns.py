import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
species = torch.arange(300) % 3
columns = torch.cat([species[:, None].float(), torch.randn(300, 4)], dim=1)
columns = (columns - columns.mean(0)) / columns.std(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    for x, y in DataLoader(TensorDataset(columns, species), batch_size=30, shuffle=True):
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
