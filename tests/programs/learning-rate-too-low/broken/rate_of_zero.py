import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(128, 4), torch.randn(128, 1)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)  # <- learning-rate-too-low
for step in range(100):
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
