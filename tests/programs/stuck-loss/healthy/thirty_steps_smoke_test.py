import torch
from torch import nn
torch.manual_seed(3)
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(30):
    loss = nn.functional.cross_entropy(model(torch.rand(8, 3, 8, 8)), torch.randint(0, 10, (8,)))
    optimizer.zero_grad(); loss.backward(); optimizer.step()
