import torch
from torch import nn

torch.manual_seed(0)
x = torch.rand(64, 4)
y = 30 * torch.rand(64, 1)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=1.0)  # <- learning-rate-too-high
for epoch in range(200):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 20 == 0:
        print(epoch, loss.item())
