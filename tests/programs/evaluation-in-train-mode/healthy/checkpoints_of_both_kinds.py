import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
from torch.utils.checkpoint import checkpoint

b = nn.ModuleList(nn.Sequential(nn.Linear(12, 12), nn.GELU(), nn.Dropout(0.1)) for _ in range(4))
hd = nn.Linear(12, 1)
o = torch.optim.AdamW([*b.parameters(), *hd.parameters()], 5e-3)
for i in range(20):
    x = torch.randn(32, 12, requires_grad=True)
    h = x
    for k, q in enumerate(b):
        h = h + checkpoint(q, h, use_reentrant=bool(k % 2))
    l = F.mse_loss(hd(h), x[:, :1].detach())
    o.zero_grad()
    l.backward()
    o.step()
    print(repr(l.item()))
