"""log det of the covariance of a batch that has fewer samples than dimensions."""
import torch
from torch import nn


class Whitening(nn.Module):
    def forward(self, z):
        z = z - z.mean(0)
        covariance = z.T @ z / len(z)
        return torch.logdet(covariance)  # <- log-of-nonpositive


torch.manual_seed(0)
net = nn.Linear(6, 3)
whitening = Whitening()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
sizes = [16, 16, 16, 16, 1, 16]
for size in sizes:
    x = torch.randn(size, 6)
    z = net(x)
    loss = z.pow(2).mean() - 0.1 * whitening(z)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
