import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 100), nn.ReLU(), nn.Linear(100, 10))
x, y = torch.randn(8, 20), torch.randint(0, 10, (8,))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for i in range(400):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
