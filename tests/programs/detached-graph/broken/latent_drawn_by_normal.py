import torch
from torch import nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(20, 32)
        self.mu = nn.Linear(32, 4)
        self.logvar = nn.Linear(32, 4)
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 20))

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = torch.normal(mu, torch.exp(0.5 * logvar))  # <- detached-graph
        return self.dec(z), mu, logvar


torch.manual_seed(0)
m = VAE()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
for step in range(80):
    x = torch.randn(32, 20)
    rec, mu, lv = m(x)
    loss = F.mse_loss(rec, x)
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
