import torch
from torch import nn
class Res(nn.Module):
    def __init__(self, a, b, s=1): super().__init__(); self.c1 = nn.Conv2d(a, b, 3, s, 1); self.c2 = nn.Conv2d(b, b, 3, 1, 1)
    def forward(self, x): return torch.relu(self.c2(torch.relu(self.c1(x))) + x)  # <- broadcast-mismatch
m = nn.Sequential(Res(3, 3), Res(3, 8, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2))
opt = torch.optim.Adam(m.parameters())
for _ in range(3):
    loss = nn.functional.cross_entropy(m(torch.rand(4, 3, 16, 16)), torch.randint(0, 2, (4,)))
    opt.zero_grad(); loss.backward(); opt.step()
