import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))
opt = torch.optim.Adam(enc.parameters(), lr=1e-3)
for step in range(150):
    base = torch.randn(32, 20)
    a = F.normalize(enc(base + 0.3 * torch.randn(32, 20)), dim=1)
    b = F.normalize(enc(base + 0.3 * torch.randn(32, 20)), dim=1)
    logits = a @ b.T / 0.1
    loss = F.cross_entropy(logits, torch.arange(32))
    opt.zero_grad(); loss.backward(); opt.step()
