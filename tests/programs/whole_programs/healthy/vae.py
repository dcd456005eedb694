import torch
from torch import nn

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(s):
        super().__init__()
        s.e = nn.Linear(8, 8)
        s.d = nn.Linear(4, 8)

    def forward(s, x):
        mu, lv = s.e(x).chunk(2, 1)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        return torch.sigmoid(s.d(z)), mu, lv


m = VAE()
opt = torch.optim.Adam(m.parameters(), 1e-2)
for _ in range(10):
    x = torch.rand(16, 8).round()
    r, mu, lv = m(x)
    loss = (
        nn.functional.binary_cross_entropy(r, x, reduction="sum")
        - 0.5 * (1 + lv - mu**2 - lv.exp()).sum()
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
