import torch, torch.nn as nn
from dataclasses import dataclass
from torch.utils.data import DataLoader, TensorDataset
@dataclass
class Config: epochs: int = 5; lr: float = 2e-3; beta: float = 0.1; latent: int = 4
class VAE(nn.Module):
    def __init__(self, c):
        super().__init__(); self.enc = nn.Sequential(nn.Linear(20, 64), nn.ReLU()); self.mu, self.lv = nn.Linear(64, c.latent), nn.Linear(64, c.latent)
        self.dec = nn.Sequential(nn.Linear(c.latent, 64), nn.ReLU(), nn.Linear(64, 20))
    def forward(self, x):
        h = self.enc(x); mu, lv = self.mu(h), self.lv(h); z = mu + torch.randn_like(mu) * (0.5 * lv).exp(); return self.dec(z), mu, lv
class Trainer:
    def __init__(self, c): self.c = c; self.model = VAE(c); self.opt = torch.optim.Adam(self.model.parameters(), lr=c.lr); self.history = {"train": [], "val": []}; self.ema = {k: v.clone() for k, v in self.model.state_dict().items()}
    def loss(self, x):
        r, mu, lv = self.model(x); rec = (r - x).pow(2).sum(1).mean(); kl = -0.5 * (1 + lv - mu.pow(2) - lv.exp()).sum(1).mean(); return rec + self.c.beta * kl
    def fit(self, tr, va):
        for e in range(self.c.epochs):
            self.model.train(); tot = 0
            for (x,) in tr:
                l = self.loss(x); self.opt.zero_grad(); l.backward(); self.opt.step(); tot += float(l)
                with torch.no_grad():
                    for k, v in self.model.state_dict().items(): self.ema[k].mul_(0.99).add_(v, alpha=0.01)
            self.model.eval()
            with torch.no_grad(): v = sum(self.loss(x).item() for (x,) in va) / len(va)
            self.history["train"].append(tot / len(tr)); self.history["val"].append(v); print(e, tot / len(tr), v)
torch.manual_seed(0); W = torch.randn(4, 20); X = torch.randn(1000, 4) @ W + 0.1 * torch.randn(1000, 20)
Trainer(Config()).fit(DataLoader(TensorDataset(X[:800]), 32, shuffle=True), DataLoader(TensorDataset(X[800:]), 64))
