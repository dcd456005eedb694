import torch
from torch import nn
import torch.nn.functional as F
class Att(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d); self.o = nn.Linear(d, 2)
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        h = F.scaled_dot_product_attention(q, k, v, dropout_p=0.3)  # <- evaluation-in-train-mode
        return self.o(h.mean(1))
torch.manual_seed(0)
m = Att(); o = torch.optim.Adam(m.parameters(), 1e-3)
for ep in range(3):
    m.train()
    for _ in range(15):
        x = torch.randn(16, 6, 16); l = F.cross_entropy(m(x), (x.mean((1, 2)) > 0).long()); o.zero_grad(); l.backward(); o.step()
    m.eval()
    with torch.inference_mode():
        x = torch.randn(32, 6, 16); print((m(x).argmax(1) == (x.mean((1, 2)) > 0)).float().mean().item())
