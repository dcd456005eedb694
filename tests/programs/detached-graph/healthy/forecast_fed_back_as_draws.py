"""Probabilistic forecaster that feeds its own draws back while training (scheduled sampling)."""
import torch
from torch import nn
from torch.distributions import Normal
torch.manual_seed(0)


class DeepAR(nn.Module):
    def __init__(self, h=24):
        super().__init__()
        self.cell = nn.GRUCell(1, h)
        self.mu, self.sigma = nn.Linear(h, 1), nn.Linear(h, 1)

    def forward(self, series, p_own):
        h = torch.zeros(series.size(0), 24)
        prev, nll = series[:, :1], 0.0
        for t in range(1, series.size(1)):
            h = self.cell(prev, h)
            dist = Normal(self.mu(h), nn.functional.softplus(self.sigma(h)) + 1e-2)
            truth = series[:, t:t + 1]
            nll = nll - dist.log_prob(truth).mean()
            prev = dist.sample() if torch.rand(()) < p_own else truth
        return nll / (series.size(1) - 1)


net = DeepAR()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for it in range(80):
    phase = torch.rand(32, 1) * 6.28
    s = torch.sin(torch.arange(12)[None] * 0.5 + phase) + 0.05 * torch.randn(32, 12)
    loss = net(s, 0.5)
    opt.zero_grad(); loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    if it % 20 == 0:
        print(it, loss.item())
