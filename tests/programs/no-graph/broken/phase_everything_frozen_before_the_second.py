import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 6); y = (x[:, 0] > 0).long()


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(6, 12); self.dec = nn.Linear(12, 6); self.head = nn.Linear(12, 2)
    def reconstruct(self, x): return self.dec(torch.tanh(self.enc(x)))
    def classify(self, x): return self.head(torch.tanh(self.enc(x)))


def freeze(module):
    for p in module.parameters():
        p.requires_grad = False  # <- no-graph


m = M()
opt = torch.optim.Adam(m.parameters(), 1e-2)
for _ in range(30):
    loss = (m.reconstruct(x) - x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
freeze(m)
opt = torch.optim.Adam(m.head.parameters(), 1e-2)
for _ in range(30):
    loss = nn.functional.cross_entropy(m.classify(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
