import torch
from torch import nn


def dirichlet_kl(alpha):
    total = alpha.sum(1)
    k = torch.tensor(float(alpha.shape[1]))
    return torch.lgamma(total) - torch.lgamma(alpha).sum(1) - torch.lgamma(k)  # <- domain-error


torch.manual_seed(0)
evidence = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3), nn.ReLU())
with torch.no_grad():
    evidence[2].bias.fill_(1.5)
optimizer = torch.optim.Adam(evidence.parameters(), lr=1e-3)
for step in range(40):
    x = torch.randn(10, 6) * (1 if step < 20 else 6)
    alpha = evidence(x)
    loss = dirichlet_kl(alpha).mean() + alpha.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
