import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 6)
y = x @ torch.randn(6, 1)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=50.0)  # <- weight-decay-too-strong
for step in range(200):
    rows = torch.randint(0, 256, (32,))
    loss = ((model(x[rows]) - y[rows]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(step, loss.item())
