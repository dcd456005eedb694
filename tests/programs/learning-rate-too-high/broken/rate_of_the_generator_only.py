"""GAN where the generator's Adam has rate 5."""
import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
og = torch.optim.Adam(G.parameters(), 5.0)  # <- learning-rate-too-high
od = torch.optim.Adam(D.parameters(), 1e-3)
crit = nn.BCEWithLogitsLoss()
one, zero = torch.ones(32, 1), torch.zeros(32, 1)
for i in range(120):
    real = torch.randn(32, 2) + 3
    fake = G(torch.randn(32, 4))
    d = crit(D(real), one) + crit(D(fake.detach()), zero)
    od.zero_grad(); d.backward(); od.step()
    g = crit(D(fake), one)
    og.zero_grad(); g.backward(); og.step()
    if i % 20 == 0:
        print(d.item(), g.item(), fake.abs().max().item())
