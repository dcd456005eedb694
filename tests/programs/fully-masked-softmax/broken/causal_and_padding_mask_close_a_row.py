import torch
from torch import nn


class Attn(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(8, 8)
        self.k = nn.Linear(8, 8)
        self.register_buffer("causal", torch.full((5, 5), float("-inf")).triu(1))

    def forward(self, x, pad):
        s = self.q(x) @ self.k(x).transpose(-2, -1) + self.causal
        s = s.masked_fill(pad[:, None, :], float("-inf"))
        return s.softmax(-1) @ x  # <- fully-masked-softmax


torch.manual_seed(0)
m = Attn()
opt = torch.optim.AdamW(m.parameters(), lr=1e-3)
for step in range(6):
    x = torch.randn(3, 5, 8)
    pad = torch.zeros(3, 5, dtype=torch.bool)
    if step == 3:
        pad[1, 0] = True
    loss = m(x, pad).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
