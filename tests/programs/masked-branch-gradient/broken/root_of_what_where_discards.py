import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for i in range(10):
    x = torch.randn(32, 4); y = x.abs().sum(1, keepdim=True)
    rate = net(x)
    ll = torch.where(rate > 0, (torch.sqrt(rate) - y.sqrt()) ** 2, (rate - y) ** 2)  # <- masked-branch-gradient
    loss = ll.mean()
    opt.zero_grad(); loss.backward(); opt.step()
