import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
SCALE = 512.0
for step in range(100):
    x = torch.randn(32, 10)
    y = torch.randn(32, 1)
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    (loss * SCALE).backward()
    for p in model.parameters():
        p.grad.div_(SCALE)
    opt.step()
print(loss.item())
