import torch
from torch import nn
class V(nn.Module):
    def __init__(self):
        super().__init__()
        def block(a, b): return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.f = nn.Sequential(block(1, 4), block(4, 8), block(8, 8), block(8, 8), block(8, 8))
        self.o = nn.Linear(8, 3)
    def forward(self, x): return self.o(self.f(x).mean((2, 3)))  # <- unexplained-error
m = V(); opt = torch.optim.Adam(m.parameters())
for _ in range(4):
    loss = nn.functional.cross_entropy(m(torch.rand(4, 1, 16, 16)), torch.randint(0, 3, (4,)))
    opt.zero_grad(); loss.backward(); opt.step()
