# extreme learning machine / random Fourier features
import torch, torch.nn as nn
torch.manual_seed(0); X = torch.randn(400, 3); y = torch.sin(X.sum(1, keepdim=True) * 2)
class RFF(nn.Module):
    def __init__(self, d=200): super().__init__(); self.features = nn.Linear(3, d); self.out = nn.Linear(d, 1); nn.init.normal_(self.features.weight, std=2.); nn.init.uniform_(self.features.bias, 0, 6.28)
    def forward(self, x): return self.out(torch.cos(self.features(x)))
m = RFF(); readout = m.out; opt = torch.optim.Adam(readout.parameters(), lr=1e-2)
for e in range(100):
    l = nn.functional.mse_loss(m(X), y); opt.zero_grad(); l.backward(); opt.step()
    if e % 25 == 0: print(e, round(l.item(), 4))
