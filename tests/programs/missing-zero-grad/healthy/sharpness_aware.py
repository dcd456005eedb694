import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(30):
    x = torch.randn(32, 4)
    y = x.sum(dim=1, keepdim=True)
    nn.functional.mse_loss(model(x), y).backward()
    with torch.no_grad():
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        moves = [0.05 * p.grad / (norm + 1e-12) for p in model.parameters()]
        for p, move in zip(model.parameters(), moves):
            p.add_(move)
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    with torch.no_grad():
        for p, move in zip(model.parameters(), moves):
            p.sub_(move)
    optimizer.step()
    optimizer.zero_grad()
