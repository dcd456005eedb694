import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
nn.init.zeros_(net[2].weight); nn.init.zeros_(net[2].bias)
opt = torch.optim.Adam(net.parameters(), lr=1e-4)
for step in range(300):
    x, y = torch.randn(128, 10), torch.randint(0, 4, (128,))
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
