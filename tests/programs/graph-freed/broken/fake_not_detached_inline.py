import torch
from torch import nn

torch.manual_seed(0)
gen = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
disc = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
g_opt = torch.optim.Adam(gen.parameters(), lr=1e-3)
d_opt = torch.optim.Adam(disc.parameters(), lr=1e-3)
bce = nn.functional.binary_cross_entropy_with_logits
for it in range(20):
    real = torch.randn(32, 2) + 2
    fake = gen(torch.randn(32, 4))
    d_loss = bce(disc(real), torch.ones(32, 1)) + bce(disc(fake), torch.zeros(32, 1))
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()
    g_loss = bce(disc(fake), torch.ones(32, 1))
    g_opt.zero_grad()
    g_loss.backward()  # <- graph-freed
    g_opt.step()
