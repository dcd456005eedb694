"""bf16 autocast: variance as E[x²] − E[x]² is negative after rounding, and its root is NaN."""
import torch
from torch import nn


class Whiten(nn.Module):
    def forward(self, x):
        ex = x.mean(0)
        ex2 = (x * x).mean(0)
        return (x - ex) / torch.sqrt(ex2 - ex * ex)  # <- domain-error


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), Whiten(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(20):
    x = torch.randn(16, 4) * 0.01 + 3
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(x)
        loss = (out.float() - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
