import torch
from torch import nn
class N(nn.Module):
    def __init__(self): super().__init__(); self.layers = nn.ModuleList([nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)])
    def forward(self, x): return self.layers(x)  # <- unexplained-error
m = N(); opt = torch.optim.Adam(m.parameters())
for _ in range(2):
    loss = m(torch.randn(3, 4)).mean(); opt.zero_grad(); loss.backward(); opt.step()
