import torch
from torch import nn
import torch.nn.functional as F


class Attn(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(8, 1); self.out = nn.Linear(8, 2)

    def forward(self, x):  # B, T, 8
        w = F.softmax(self.score(x).squeeze(-1), dim=0)  # <- softmax-over-batch
        return self.out((w.unsqueeze(-1) * x).sum(1))


torch.manual_seed(0)
m = Attn(); o = torch.optim.Adam(m.parameters(), 1e-3)
for s in range(60):
    x = torch.randn(16, 5, 8); y = (x[:, 0, 0] > 0).long()
    l = F.cross_entropy(m(x), y); o.zero_grad(); l.backward(); o.step()
