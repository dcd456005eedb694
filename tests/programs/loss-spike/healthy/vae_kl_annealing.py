import torch
from torch import nn
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(16, 32); self.mu = nn.Linear(32, 4); self.lv = nn.Linear(32, 4)
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 16))
    def forward(self, x):
        h = torch.relu(self.enc(x)); mu, lv = self.mu(h), self.lv(h)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        return self.dec(z), mu, lv
torch.manual_seed(0)
vae = VAE(); opt = torch.optim.Adam(vae.parameters(), lr=3e-3)
mix = torch.randn(3, 16)
for step in range(300):
    x = torch.randn(64, 3) @ mix * 0.3
    r, mu, lv = vae(x)
    kl = -0.5 * (1 + lv - mu**2 - lv.exp()).sum(1).mean()
    beta = min(1.0, step / 200)
    loss = ((r - x) ** 2).sum(1).mean() + beta * kl
    opt.zero_grad(); loss.backward(); opt.step()
