from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class Config:
    features: int = 12
    latent: int = 3
    steps: int = 30
    lr: float = 1e-3


class VAE(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.encoder = nn.Linear(config.features, 2 * config.latent)
        self.decoder = nn.Linear(config.latent, config.features)

    def forward(self, x):
        mu, logvar = self.encoder(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (logvar / 2).clamp(max=5).exp()
        return self.decoder(z), mu, logvar


def elbo(x, reconstruction, mu, logvar):
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1)  # <- exp-overflow
    return (F.mse_loss(reconstruction, x, reduction="none").sum(1) + kl).mean()


def main(config=Config()):
    torch.manual_seed(1)
    model = VAE(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr)
    for step in range(config.steps):
        x = torch.randn(16, config.features)
        if step == 21:
            x[3] *= 2000  # one recording with the wrong unit
        loss = elbo(x, *model(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
