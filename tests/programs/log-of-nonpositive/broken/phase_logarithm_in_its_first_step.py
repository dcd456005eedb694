import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(128, 6)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 6))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(40):
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
head = nn.Linear(6, 1)
opt = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=1e-3)
y = x.sum(1, keepdim=True)
for _ in range(20):
    rate = head(net(x))
    loss = (rate - y * torch.log(rate)).mean()  # <- log-of-nonpositive
    opt.zero_grad(); loss.backward(); opt.step()
print(loss)
