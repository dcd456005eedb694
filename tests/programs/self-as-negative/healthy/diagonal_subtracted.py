import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16))
opt = torch.optim.Adam(enc.parameters(), 1e-3)
base = torch.randn(400, 16)
for step in range(60):
    b = base[torch.randint(0, 400, (40,))]
    z = F.normalize(enc(torch.cat([b + 0.2 * torch.randn_like(b), b + 0.2 * torch.randn_like(b)])), dim=1)
    sim = z @ z.t() / 0.2 - torch.eye(80) * 1e9
    loss = F.cross_entropy(sim, (torch.arange(80) + 40) % 80)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
