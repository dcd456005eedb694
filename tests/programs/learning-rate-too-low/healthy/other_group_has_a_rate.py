import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(128, 4)
y = x @ torch.randn(4, 1)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD([{"params": model[0].parameters(), "lr": 0.05}, {"params": model[2].parameters()}], lr=0.0)
for step in range(100):
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
