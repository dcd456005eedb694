import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 6), nn.Tanh(), nn.Linear(6, 16), nn.Sigmoid())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    x = torch.rand(64, 16)
    out = model(x)
    loss = nn.functional.mse_loss(out, x) + 0.1 * nn.functional.binary_cross_entropy(out, x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
