import torch
import torch.nn as nn

torch.manual_seed(0)
D = 60
mean = nn.Parameter(torch.zeros(D))
L = nn.Parameter(0.1 * torch.eye(D))
opt = torch.optim.Adam([mean, L], lr=1e-3)
data = 0.1 * torch.randn(300, D)


def gaussian_nll(x):
    cov = L @ L.T + 1e-4 * torch.eye(D)
    d = x - mean
    maha = (d * torch.linalg.solve(cov, d.T).T).sum(1)
    return 0.5 * (maha + torch.log(torch.det(cov))).mean()  # <- log-of-nonpositive


for step in range(10):
    loss = gaussian_nll(data[step * 30 : step * 30 + 30])
    opt.zero_grad()
    loss.backward()
    opt.step()
