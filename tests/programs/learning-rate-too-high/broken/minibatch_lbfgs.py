import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(512, 8)
y = torch.sin(x.sum(1, keepdim=True)) * 3
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=1.0)  # <- learning-rate-too-high
for epoch in range(2):
    for rows in torch.randperm(512).split(16):
        def closure():
            optimizer.zero_grad()
            loss = ((model(x[rows]) - y[rows]) ** 2).mean()
            loss.backward()
            return loss
        loss = optimizer.step(closure)
    print(epoch, loss.item())
