import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(20, 32)
        self.mu, self.logvar = nn.Linear(32, 4), nn.Linear(32, 4)
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 20))

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return torch.sigmoid(self.dec(z)), mu, logvar


def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x, reduction="sum") / len(x)
    kld = 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(x)  # <- loss-maximised
    return bce + kld


x = (torch.rand(400, 20) < torch.rand(1, 20)).float()
model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(150):
    xb = x[torch.randperm(400)[:64]]
    recon, mu, logvar = model(xb)
    loss = loss_function(recon, xb, mu, logvar)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, loss.item())
