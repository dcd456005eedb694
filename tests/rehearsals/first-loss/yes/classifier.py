import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(30):
    x = torch.randn(32, 8)
    loss = nn.functional.cross_entropy(model(x), torch.randint(0, 10, (32,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
