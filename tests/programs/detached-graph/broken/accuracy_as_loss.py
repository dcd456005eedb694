import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(5, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(30):
    x = torch.randn(64, 5)
    y = x[:, :3].argmax(dim=1)
    predicted = model(x).argmax(dim=1)  # <- detached-graph
    loss = (predicted != y).float().mean().requires_grad_()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
