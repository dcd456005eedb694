import torch
from torch import nn

B, L, D, H = 8, 12, 48, 6
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(D, H, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(D, 2*D), nn.GELU(), nn.Linear(2*D, D))
    def forward(self, x, mask):
        y, _ = self.attn(x, x, x, attn_mask=mask)  # <- broadcast-mismatch
        x = x + y
        return x + self.ff(x)

def make_mask(lengths):
    idx = torch.arange(L)
    visible = idx[None, None, :] < lengths[:, None, None]
    return ~visible.expand(-1, L, -1)

net = nn.ModuleList([Block() for _ in range(2)])
head = nn.Linear(D, 1)
opt = torch.optim.Adam([*net.parameters(), *head.parameters()])
for it in range(10):
    x = torch.randn(B, L, D)
    lengths = torch.randint(3, L + 1, (B,))
    m = make_mask(lengths)
    h = x
    for blk in net:
        h = blk(h, m)
    loss = (head(h.mean(1)) - 1).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
