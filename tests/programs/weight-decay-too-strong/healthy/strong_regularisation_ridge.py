import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(200, 30); y = x[:, :1] + 0.5 * torch.randn(200, 1)
m = nn.Linear(30, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.05, weight_decay=0.5)
for i in range(150):
    loss = nn.functional.mse_loss(m(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
