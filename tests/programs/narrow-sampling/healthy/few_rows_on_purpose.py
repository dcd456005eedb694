import torch
from torch import nn
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

torch.manual_seed(0)
x = torch.randn(200, 6)
y = (x[:, 0] > 0).long()
# A quick look whether the model can learn eight rows by heart.
train_loader = DataLoader(TensorDataset(x, y), batch_size=4, sampler=SubsetRandomSampler(range(8)))
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    for data, label in train_loader:
        loss = nn.functional.cross_entropy(model(data), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
