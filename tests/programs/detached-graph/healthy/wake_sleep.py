"""Wake-sleep for a Gaussian Helmholtz machine: draws are meant to have no derivative, two optimizers."""
import torch
from torch import nn
from torch.distributions import Normal
torch.manual_seed(0)
W = torch.randn(2, 6)
rec = nn.Linear(6, 2)
gen = nn.Linear(2, 6)
o_gen = torch.optim.Adam(gen.parameters(), lr=1e-2)
o_rec = torch.optim.Adam(rec.parameters(), lr=1e-2)
for it in range(200):
    x = torch.randn(64, 2) @ W + 0.3 * torch.randn(64, 6)
    with torch.no_grad():
        z = Normal(rec(x), 0.4).sample()
    wake = -Normal(gen(z), 0.5).log_prob(x).sum(1).mean()
    o_gen.zero_grad(); wake.backward(); o_gen.step()
    with torch.no_grad():
        z = torch.randn(64, 2)
        dream = Normal(gen(z), 0.5).sample()
    sleep = -Normal(rec(dream), 0.4).log_prob(z).sum(1).mean()
    o_rec.zero_grad(); sleep.backward(); o_rec.step()
    if it % 50 == 0:
        print(it, wake.item(), sleep.item())
