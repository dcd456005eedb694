import math

import torch
from torch import nn


class MixtureDensity(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.hidden = nn.Linear(1, 16)
        self.pi, self.mu, self.sigma = nn.Linear(16, k), nn.Linear(16, k), nn.Linear(16, k)

    def forward(self, x):
        h = torch.tanh(self.hidden(x))
        return self.pi(h).softmax(1), self.mu(h), nn.functional.softplus(self.sigma(h)) + 1e-2


def nll(pi, mu, sigma, y):
    density = torch.exp(-0.5 * ((y - mu) / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))
    return -torch.log((pi * density).sum(dim=1)).mean()  # <- log-of-nonpositive


torch.manual_seed(0)
x = torch.linspace(-1, 1, 256)[:, None]
y = x + 0.3 * torch.sin(6 * x) + 0.05 * torch.randn_like(x)
y[190] = 60.0  # an outlier
model = MixtureDensity()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    for start in range(0, 256, 32):
        loss = nll(*model(x[start : start + 32]), y[start : start + 32])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
