import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(256, 8)
Y = X.sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for i in range(100):
    opt.zero_grad()
    nn.functional.mse_loss(model(X), Y).backward()
    opt.step()
fine = torch.optim.SGD(model.parameters(), lr=1e-4)
for i in range(60):
    loss = nn.functional.mse_loss(model(X), Y)
    loss.backward()
    fine.step()  # <- missing-zero-grad
print(loss.item())
