"""BatchNorm1d over (N, T, C)."""
import torch
from torch import nn


class Temporal(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.proj = nn.Linear(5, c)
        self.norm = nn.BatchNorm1d(c)
        self.gru = nn.GRU(c, c, batch_first=True)
        self.out = nn.Linear(c, 2)

    def forward(self, x):
        h = self.norm(self.proj(x))  # <- channel-mismatch
        return self.out(self.gru(h)[0][:, -1])


net = Temporal()
opt = torch.optim.Adam(net.parameters())
for _ in range(10):
    x = torch.randn(8, 20, 5)
    loss = nn.functional.cross_entropy(net(x), torch.randint(0, 2, (8,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
