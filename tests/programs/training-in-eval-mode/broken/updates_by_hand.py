import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 6)
y = x @ torch.randn(6, 1)
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
for epoch in range(10):
    for rows in torch.randperm(256).split(32):
        loss = ((model(x[rows]) - y[rows]) ** 2).mean()
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.05 * p.grad
    model.eval()  # <- training-in-eval-mode
    with torch.no_grad():
        print(epoch, ((model(x) - y) ** 2).mean().item())
