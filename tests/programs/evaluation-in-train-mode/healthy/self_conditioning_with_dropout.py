# self-conditioning: a first pass without gradient in train mode feeds the second
import torch
from torch import nn

torch.manual_seed(0)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 64), nn.SiLU(), nn.Dropout(0.1), nn.Linear(64, 2))

    def forward(self, x, t, cond=None):
        if cond is None:
            cond = torch.zeros_like(x)
        return self.net(torch.cat([x, cond, t], 1))


m = Denoiser()
opt = torch.optim.AdamW(m.parameters(), 2e-3)
for i in range(250):
    a = torch.rand(128, 1) * 6.28
    x0 = torch.cat([a.cos(), a.sin()], 1)
    t = torch.rand(128, 1)
    xt = (1 - t) * x0 + t * torch.randn_like(x0)
    cond = None
    if torch.rand(()) < 0.5:
        with torch.no_grad():
            cond = m(xt, t)
    loss = nn.functional.mse_loss(m(xt, t, cond), x0)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 50 == 0:
        print(loss.item())
