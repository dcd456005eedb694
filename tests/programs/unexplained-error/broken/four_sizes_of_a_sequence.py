import torch
from torch import nn
class SE(nn.Module):
    def __init__(self, c):
        super().__init__(); self.f = nn.Sequential(nn.Linear(c, c // 2), nn.ReLU(), nn.Linear(c // 2, c), nn.Sigmoid())
    def forward(self, x):
        b, c, h, w = x.shape  # <- unexplained-error
        return x * self.f(x.mean((2, 3))).view(b, c, 1, 1)
net = nn.Sequential(nn.Conv1d(2, 8, 3), nn.ReLU(), SE(8), nn.Flatten(), nn.LazyLinear(2))
opt = torch.optim.Adam(net.parameters())
for _ in range(4):
    loss = nn.functional.cross_entropy(net(torch.randn(6, 2, 20)), torch.randint(0, 2, (6,)))
    opt.zero_grad(); loss.backward(); opt.step()
