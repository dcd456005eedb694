# masked autoencoder: random patches per sample by argsort and gather
import torch, torch.nn as nn
torch.manual_seed(0)
class MAE(nn.Module):
    def __init__(self, d=32, p=4):
        super().__init__(); self.p = p; self.emb = nn.Linear(p * p, d); self.pos = nn.Parameter(torch.randn(1, 16, d) * .02); L = lambda: nn.TransformerEncoderLayer(d, 2, 64, dropout=0., batch_first=True, norm_first=True)
        self.enc, self.dec = nn.TransformerEncoder(L(), 1, enable_nested_tensor=False), nn.TransformerEncoder(L(), 1, enable_nested_tensor=False); self.mask_token = nn.Parameter(torch.zeros(1, 1, d)); self.out = nn.Linear(d, p * p)
    def patchify(self, x): b = x.size(0); return x.reshape(b, 4, self.p, 4, self.p).permute(0, 1, 3, 2, 4).reshape(b, 16, self.p ** 2)
    def forward(self, x, ratio=.5):
        t = self.patchify(x); h = self.emb(t) + self.pos; b, n, d = h.shape; keep = int(n * (1 - ratio)); ids = torch.rand(b, n).argsort(1); back = ids.argsort(1)
        vis = h.gather(1, ids[:, :keep, None].expand(-1, -1, d)); mask = torch.ones(b, n); mask[:, :keep] = 0; mask = mask.gather(1, back)
        z = self.enc(vis); z = torch.cat([z, self.mask_token.expand(b, n - keep, -1)], 1).gather(1, back[..., None].expand(-1, -1, d)) + self.pos
        return (((self.out(self.dec(z)) - t) ** 2).mean(-1) * mask).sum() / mask.sum()
m = MAE(); opt = torch.optim.AdamW(m.parameters(), 2e-3, betas=(.9, .95)); t = torch.linspace(0, 6.28, 16)
for i in range(80):
    ph = torch.rand(32, 1, 1) * 6.28; x = torch.sin(t[None, :, None] + ph) * torch.cos(t[None, None] + ph); loss = m(x); opt.zero_grad(); loss.backward(); opt.step()
    if i % 20 == 0: print(i, round(loss.item(), 4))
