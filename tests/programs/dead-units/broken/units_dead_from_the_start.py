# bias so negative that the ReLUs never fire
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(8, 32),
    nn.ReLU(),
    nn.Linear(32, 1),
)
with torch.no_grad():
    net[0].bias.fill_(-50.0)  # <- dead-units
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(100):
    x = torch.randn(64, 8)
    y = x[:, :1]
    loss = (net(x) - y).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
