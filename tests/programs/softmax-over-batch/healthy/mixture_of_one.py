"""Mixture densities with one, two and five parts: with one, all weight lies on it."""
import torch
from torch import nn

torch.manual_seed(0)
y = torch.rand(1000, 1) * 2 - 1
x = y + 0.3 * torch.sin(6 * y) + 0.05 * torch.randn(1000, 1)
for parts in (1, 2, 5):
    body, weight = nn.Sequential(nn.Linear(1, 32), nn.Tanh()), nn.Linear(32, parts)
    mean, scale = nn.Linear(32, parts), nn.Linear(32, parts)
    parameters = [p for layer in (body, weight, mean, scale) for p in layer.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    for step in range(60):
        rows = torch.randint(0, 1000, (100,))
        h = body(x[rows])
        s = scale(h).clamp(-5, 3)
        density = weight(h).log_softmax(1) - 0.5 * ((y[rows] - mean(h)) / s.exp()) ** 2 - s
        loss = -density.logsumexp(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(parts, loss.item())
