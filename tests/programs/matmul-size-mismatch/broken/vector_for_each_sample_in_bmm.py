import torch
from torch import nn
class Pointer(nn.Module):
    def __init__(self): super().__init__(); self.q, self.k = nn.Linear(4, 8), nn.Linear(4, 8)
    def forward(self, x, s):
        w = torch.bmm(self.k(x), self.q(s))  # <- matmul-size-mismatch
        return w.squeeze(-1)
m = Pointer(); opt = torch.optim.Adam(m.parameters())
for _ in range(2):
    loss = nn.functional.cross_entropy(m(torch.randn(5, 7, 4), torch.randn(5, 4)), torch.randint(0, 7, (5,))); opt.zero_grad(); loss.backward(); opt.step()
