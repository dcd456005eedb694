"""VAE whose reparameterisation draws with torch.normal: the encoder learns only through the KL term."""
import torch
from torch import nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self, d=20, z=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 32), nn.ReLU())
        self.mu, self.logvar = nn.Linear(32, z), nn.Linear(32, z)
        self.dec = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, d))

    def reparameterise(self, mu, logvar):
        std = torch.exp(0.5 * logvar)

        return torch.normal(mu, std)  # <- detached-graph

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.reparameterise(mu, logvar)), mu, logvar


def elbo(recon, x, mu, logvar, beta=0.1):
    rec = F.mse_loss(recon, x, reduction="sum") / len(x)
    kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum(1).mean()
    return rec + beta * kl


torch.manual_seed(0)
W = torch.randn(4, 20)
model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for it in range(200):
    x = torch.randn(64, 4) @ W
    recon, mu, logvar = model(x)
    loss = elbo(recon, x, mu, logvar)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 40 == 0:
        print(it, loss.item())
