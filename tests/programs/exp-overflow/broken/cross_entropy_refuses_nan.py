import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
enc, dec = nn.Linear(20, 8), nn.Linear(4, 20)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=30.0)
x = torch.rand(64, 20)
for step in range(50):
    mu, logvar = enc(x).chunk(2, 1)
    z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)  # <- exp-overflow
    out = torch.sigmoid(dec(z))
    loss = F.binary_cross_entropy(out, x) - 0.5 * torch.mean(1 + logvar - mu.pow(2) - logvar.exp())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
