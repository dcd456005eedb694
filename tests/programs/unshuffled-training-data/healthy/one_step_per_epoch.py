import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
y = torch.arange(120) // 40
x = torch.randn(120, 6) + y[:, None]
loader = DataLoader(TensorDataset(x, y), batch_size=10)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(8):
    optimizer.zero_grad()
    for data, label in loader:  # parts of one large batch
        (nn.functional.cross_entropy(model(data), label) / len(loader)).backward()
    optimizer.step()
