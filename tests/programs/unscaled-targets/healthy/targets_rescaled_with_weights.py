import torch, torch.nn as nn
torch.manual_seed(0)
class PopArt(nn.Module):
    def __init__(self, i): super().__init__(); self.l = nn.Linear(i, 1); self.register_buffer("mu", torch.zeros(1)); self.register_buffer("nu", torch.ones(1))
    sigma = property(lambda s: (s.nu - s.mu ** 2).clamp(min=1e-4).sqrt())
    def forward(self, h): return self.l(h)
    @torch.no_grad()
    def update(self, t, b=.05): m, s = self.mu.clone(), self.sigma.clone(); self.mu.lerp_(t.mean(), b); self.nu.lerp_(t.pow(2).mean(), b); self.l.weight.mul_(s / self.sigma); self.l.bias.mul_(s).add_(m - self.mu).div_(self.sigma)
body, head = nn.Sequential(nn.Linear(4, 32), nn.Tanh()), PopArt(32); opt = torch.optim.Adam([*body.parameters(), *head.parameters()], 3e-3)
for i in range(300):
    x = torch.randn(64, 4); scale = 1 if i < 100 else 100; t = scale * (x[:, 0] + 2); head.update(t); v = head(body(x)).squeeze(1); l = nn.functional.smooth_l1_loss(v, (t - head.mu) / head.sigma); opt.zero_grad(); l.backward(); opt.step()
    if i % 60 == 0: print(i, round(l.item(), 4), round(head.mu.item(), 2))
