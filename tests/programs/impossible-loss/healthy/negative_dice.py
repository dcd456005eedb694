import torch
from torch import nn

torch.manual_seed(0)
images = torch.rand(32, 1, 8, 8)
masks = (images > 0.6).float()
model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1), nn.Sigmoid())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(50):
    rows = torch.randint(0, 32, (8,))
    p, t = model(images[rows]).flatten(1), masks[rows].flatten(1)
    loss = -((2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
