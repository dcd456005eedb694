import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(256, 8)
Y = X.sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for i in range(300):
    if i == 120:
        for g in opt.param_groups:
            g["lr"] = 50.0  # <- learning-rate-too-high
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(X), Y)
    loss.backward()
    opt.step()
print(loss.item())
