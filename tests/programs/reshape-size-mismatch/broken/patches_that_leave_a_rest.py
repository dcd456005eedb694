import torch
from torch import nn
class PatchEmbed(nn.Module):
    def __init__(self, p=8, d=16): super().__init__(); self.p = p; self.l = nn.Linear(3 * p * p, d); self.o = nn.Linear(d, 2)
    def forward(self, x):
        b, c, h, w = x.shape; p = self.p
        x = x.reshape(b, c, h // p, p, w // p, p)  # <- reshape-size-mismatch
        return self.o(self.l(x.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)).mean(1))
m = PatchEmbed(); opt = torch.optim.Adam(m.parameters())
for _ in range(3):
    loss = nn.functional.cross_entropy(m(torch.rand(4, 3, 28, 28)), torch.randint(0, 2, (4,)))
    opt.zero_grad(); loss.backward(); opt.step()
