import torch
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

torch.manual_seed(0)
x = torch.randn(200, 6)
y = (x[:, 0] > 0).long()
generator = torch.Generator()
sampler = RandomSampler(x, num_samples=60, generator=generator)
train_loader = DataLoader(TensorDataset(x, y), batch_size=12, sampler=sampler)  # <- narrow-sampling
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    generator.manual_seed(0)
    for data, label in train_loader:
        loss = nn.functional.cross_entropy(model(data), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
