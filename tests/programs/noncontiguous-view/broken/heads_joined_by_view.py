import torch
from torch import nn


class MHA(nn.Module):
    def __init__(self, d=12, h=3):
        super().__init__()
        self.h, self.qkv, self.o = h, nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.h, -1).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        a = (q @ k.transpose(-2, -1)).softmax(-1) @ v
        return self.o(a.transpose(1, 2).view(b, t, d))  # <- noncontiguous-view


m = MHA()
opt = torch.optim.Adam(m.parameters())
for _ in range(3):
    loss = m(torch.randn(2, 5, 12)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
