import torch
from torch import nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(10, 4), nn.Linear(2, 10)

    def forward(self, x):
        mu, logvar = self.encode(x).chunk(2, 1)
        logvar = logvar.clamp(-30, 20)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(1).mean()
        return F.binary_cross_entropy_with_logits(self.decode(z), x, reduction="sum") / len(x) + kl


torch.manual_seed(0)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    for x in (torch.rand(80, 10) > 0.5).float().split(20):
        loss = model(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
