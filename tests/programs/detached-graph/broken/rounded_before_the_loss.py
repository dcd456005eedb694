import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(60):
    x = torch.randn(32, 5)
    y = (x[:, :1] > 0).float()
    pred = torch.round(torch.sigmoid(net(x)))  # <- detached-graph
    loss = nn.functional.mse_loss(pred, y)
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
