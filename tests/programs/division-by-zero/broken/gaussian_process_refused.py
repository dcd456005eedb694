"""A GP whose lengthscale underflows: the kernel is NaN and cholesky says 'not positive-definite'."""
import torch
from torch import nn


class Kernel(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw = nn.Parameter(torch.tensor(0.0))

    def forward(self, x):
        lengthscale = nn.functional.softplus(self.raw)
        square = (x[:, None] - x[None, :]) ** 2
        return torch.exp(-0.5 * square / lengthscale**2)  # <- division-by-zero


torch.manual_seed(0)
x = torch.linspace(0, 1, 15)
y = torch.sin(9 * x)
kernel = Kernel()
optimizer = torch.optim.Adam(kernel.parameters(), lr=0.05)
for step in range(20):
    if step == 12:
        with torch.no_grad():
            kernel.raw.fill_(-60.0)  # a restart from a bad grid point
    k = kernel(x) + 1e-2 * torch.eye(15)
    factor = torch.linalg.cholesky(k)
    alpha = torch.cholesky_solve(y[:, None], factor)
    loss = 0.5 * (y @ alpha).sum() + factor.diagonal().log().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
