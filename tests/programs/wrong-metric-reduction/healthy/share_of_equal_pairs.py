# The share of pairs of a query and an item of the gallery that have the same class, as a baseline for retrieval.
import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
head = nn.Linear(8, 4)
optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=5e-3)
means = 2 * torch.randn(4, 8)
gallery = torch.randint(0, 4, (60,))
queries = torch.randint(0, 4, (60, 1))
for epoch in range(5):
    for step in range(20):
        y = torch.randint(0, 4, (32,))
        loss = nn.functional.cross_entropy(head(encoder(means[y] + torch.randn(32, 8))), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        z = encoder(means[gallery] + torch.randn(60, 8))
        q = encoder(means[queries[:, 0]] + torch.randn(60, 8))
        near = torch.cdist(q, z).argmin(1)
        hits = (gallery[near] == queries[:, 0]).float().mean().item()
        chance = (queries == gallery).float().mean().item()
    print(epoch, hits, chance)
