import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Linear(5, 2)
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
for step in range(8):
    z = encoder(torch.randn(12, 5))
    square = torch.cdist(z, z).pow(2).masked_fill(torch.eye(12, dtype=torch.bool), torch.inf)
    kernel = torch.exp(-square)
    share = kernel / kernel.sum(1, keepdim=True)
    inverse = 1 / (1 + square)
    loss = (share * share).sum() + inverse.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
