import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 10)
y = x @ torch.randn(10, 1)
model = nn.Linear(10, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(40):
    optimizer.zero_grad()
    for inputs, targets in zip(x.split(64), y.split(64)):
        loss = (model(inputs) - targets).square().sum() / len(x)
        loss.backward()
    optimizer.step()
