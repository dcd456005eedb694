"""A Gaussian process that retries with more jitter when the factorisation fails."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(0, 1, 30)
y = torch.sin(6 * x)
log_scale = nn.Parameter(torch.tensor(0.5))
optimizer = torch.optim.Adam([log_scale], lr=0.05)


def factor(k):
    jitter = 0.0
    while True:
        try:
            return torch.linalg.cholesky(k + jitter * torch.eye(len(k)))
        except torch.linalg.LinAlgError:
            jitter = max(jitter * 10, 1e-6)


for step in range(8):
    k = torch.exp(-0.5 * (x[:, None] - x[None]) ** 2 / log_scale.exp() ** 2)
    c = factor(k)
    loss = c.diagonal().log().sum() * 0.01 + torch.cholesky_solve(y[:, None], c).pow(2).mean() * 1e-6
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
