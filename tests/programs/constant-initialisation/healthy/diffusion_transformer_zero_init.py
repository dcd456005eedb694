import torch, torch.nn as nn
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(self, d=24):
        super().__init__(); self.n1, self.n2 = nn.LayerNorm(d, elementwise_affine=False), nn.LayerNorm(d, elementwise_affine=False); self.att = nn.MultiheadAttention(d, 2, batch_first=True); self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(approximate="tanh"), nn.Linear(2 * d, d)); self.ada = nn.Sequential(nn.SiLU(), nn.Linear(d, 6 * d)); nn.init.zeros_(self.ada[1].weight); nn.init.zeros_(self.ada[1].bias)
    def forward(self, x, c):
        s1, b1, g1, s2, b2, g2 = self.ada(c).unsqueeze(1).chunk(6, -1); h = self.n1(x) * (1 + s1) + b1; x = x + g1 * self.att(h, h, h, need_weights=False)[0]; return x + g2 * self.mlp(self.n2(x) * (1 + s2) + b2)
class DiT(nn.Module):
    def __init__(self, d=24):
        super().__init__(); self.inp = nn.Linear(4, d); self.pos = nn.Parameter(torch.zeros(1, 8, d)); self.t = nn.Linear(1, d); self.lab = nn.Embedding(5, d); self.blocks = nn.ModuleList(Block(d) for _ in range(2)); self.out = nn.Linear(d, 4); nn.init.zeros_(self.out.weight); nn.init.zeros_(self.out.bias); nn.init.normal_(self.pos, std=.02)
    def forward(self, x, t, y):
        c = self.t(t[:, None]) + self.lab(y); h = self.inp(x) + self.pos
        for b in self.blocks: h = b(h, c)
        return self.out(h)
m = DiT(); opt = torch.optim.AdamW(m.parameters(), 2e-3, weight_decay=0); proto = torch.randn(4, 8, 4)
for i in range(120):    # rectified flow with label dropout
    y = torch.randint(0, 4, (32,)); x1 = proto[y] + .1 * torch.randn(32, 8, 4); x0 = torch.randn_like(x1); t = torch.rand(32); xt = t[:, None, None] * x1 + (1 - t)[:, None, None] * x0
    yy = torch.where(torch.rand(32) < .1, 4, y); loss = ((m(xt, t, yy) - (x1 - x0)) ** 2).mean(); opt.zero_grad(); loss.backward(); opt.step()
    if i % 40 == 0: print(i, round(loss.item(), 3))
