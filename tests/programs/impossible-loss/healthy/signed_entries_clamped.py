import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 6)
signs = torch.sign(x[:, :1])
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    rows = torch.randint(0, 200, (32,))
    loss = nn.functional.binary_cross_entropy_with_logits(model(x[rows]), signs[rows].clamp(min=0))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
