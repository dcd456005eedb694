"""Auto-decoder (GLO): latent codes are leaves made from an encoder's guess, refined by their own optimizer each round."""
import torch
from torch import nn
torch.manual_seed(0)
A = torch.randn(3, 12)
X = torch.randn(96, 3) @ A
enc = nn.Linear(12, 3)
dec = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 12))
opt = torch.optim.Adam(list(enc.parameters()) + list(dec.parameters()), lr=3e-3)
for rnd in range(40):
    x = X[torch.randint(0, 96, (32,))]
    z = enc(x).detach().clone().requires_grad_(True)
    zopt = torch.optim.SGD([z], lr=0.5)
    for _ in range(3):
        zopt.zero_grad()
        ((dec(z) - x) ** 2).sum(1).mean().backward()
        zopt.step()
    loss = ((dec(z.detach()) - x) ** 2).mean() + ((enc(x) - z.detach()) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if rnd % 10 == 0:
        print(rnd, loss.item())
