import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 4)
chance = torch.randint(0, 101, (200, 1)).float()
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(50):
    rows = torch.randint(0, 200, (32,))
    p, t = model(x[rows]).clamp(1e-4, 1 - 1e-4), chance[rows]
    loss = -(t * torch.log(p) + (1 - t) * torch.log(1 - p)).mean()  # <- impossible-loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
