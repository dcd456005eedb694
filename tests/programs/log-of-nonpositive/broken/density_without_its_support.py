import torch
from torch import nn

torch.manual_seed(0)
x = torch.rand(512, 1) * 2 - 1
y = 0.5 * x + 0.2 * torch.randn(512, 1)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(300):
    i = torch.randint(0, 512, (64,))
    centre, width = net(x[i]).chunk(2, 1)
    width = nn.functional.softplus(width) + 0.1
    # Epanechnikov density without its cut-off: negative outside of the support
    density = 0.75 / width * (1 - ((y[i] - centre) / width) ** 2)
    loss = -torch.log(density).mean()  # <- log-of-nonpositive
    opt.zero_grad()
    loss.backward()
    opt.step()
