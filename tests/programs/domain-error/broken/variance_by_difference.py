"""E[x^2] - E[x]^2 comes out below zero by rounding, and its root is NaN."""
import torch
from torch import nn


class Normalise(nn.Module):
    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        variance = (x * x).mean(1, keepdim=True) - mean * mean
        return (x - mean) / (torch.sqrt(variance) + 1e-5)  # <- domain-error


torch.manual_seed(1)
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
norm = Normalise()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
readings = torch.rand(40, 3) * 50 + 1000
readings[25] = torch.tensor([1013.2471, 1013.2473, 1013.2472])  # three sensors agree almost exactly
for epoch in range(2):
    for rows in torch.arange(40).split(8):
        loss = model(norm(readings[rows])).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
