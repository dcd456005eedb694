import torch
from torch import nn
class FPN(nn.Module):
    def __init__(self):
        super().__init__(); self.a = nn.Conv2d(3, 8, 3, 2, 1); self.b = nn.Conv2d(8, 16, 3, 2, 1); self.l = nn.Conv2d(8, 8, 1); self.t = nn.Conv2d(16, 8, 1); self.o = nn.Conv2d(8, 1, 1)
    def forward(self, x):
        p = self.a(x); q = self.b(p)
        top = nn.functional.interpolate(self.t(q), scale_factor=2)
        return self.o(self.l(p) + top)  # <- broadcast-mismatch
m = FPN(); opt = torch.optim.Adam(m.parameters())
for _ in range(2):
    loss = m(torch.rand(2, 3, 30, 30)).mean(); opt.zero_grad(); loss.backward(); opt.step()
