"""Tiny DDPM on a 2-D spiral."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)
T = 50
betas = torch.linspace(1e-4, 0.05, T)
alphas = 1 - betas
abar = torch.cumprod(alphas, 0)


def timestep_embedding(t, dim=16):
    half = dim // 2
    freqs = torch.exp(-math.log(10000) * torch.arange(half) / half)
    args = t[:, None].float() * freqs[None]
    return torch.cat([args.sin(), args.cos()], -1)


class Denoiser(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.t_mlp = nn.Sequential(nn.Linear(16, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        self.inp = nn.Linear(2, hidden)
        self.mid = nn.ModuleList([nn.Linear(hidden, hidden) for _ in range(2)])
        self.out = nn.Linear(hidden, 2)
        nn.init.zeros_(self.out.weight); nn.init.zeros_(self.out.bias)

    def forward(self, x, t):
        h = self.inp(x) + self.t_mlp(timestep_embedding(t))
        for layer in self.mid:
            h = h + F.silu(layer(h))
        return self.out(h)


def sample_data(n):
    th = torch.rand(n) * 3 * math.pi
    r = th / (3 * math.pi)
    return torch.stack([r * th.cos(), r * th.sin()], 1) + 0.02 * torch.randn(n, 2)


model = Denoiser()
ema = {k: v.clone() for k, v in model.state_dict().items()}
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for it in range(300):
    x0 = sample_data(128)
    t = torch.randint(0, T, (128,))
    noise = torch.randn_like(x0)
    xt = abar[t].sqrt()[:, None] * x0 + (1 - abar[t]).sqrt()[:, None] * noise
    loss = F.mse_loss(model(xt, t), noise)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    with torch.no_grad():
        for k, v in model.state_dict().items():
            ema[k].mul_(0.99).add_(v, alpha=0.01)
    if it % 100 == 0:
        print(it, f"{loss.item():.4f}")


@torch.no_grad()
def sample(n):
    x = torch.randn(n, 2)
    for i in reversed(range(T)):
        t = torch.full((n,), i)
        eps = model(x, t)
        x = (x - betas[i] / (1 - abar[i]).sqrt() * eps) / alphas[i].sqrt()
        if i > 0:
            x = x + betas[i].sqrt() * torch.randn_like(x)
    return x


model.load_state_dict(ema)
model.eval()
print(f"{sample(64).std():.4f}")
