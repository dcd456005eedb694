import copy

import torch
from torch import nn

torch.manual_seed(0)
query = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8))
key = copy.deepcopy(query)
for p in key.parameters():
    p.requires_grad = False
queue = nn.functional.normalize(torch.randn(64, 8), dim=1)
optimizer = torch.optim.SGD(query.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)
for step in range(40):
    x = torch.randn(16, 8)
    q = nn.functional.normalize(query(x + 0.1 * torch.randn(16, 8)), dim=1)
    with torch.no_grad():
        for a, b in zip(key.parameters(), query.parameters()):
            a.mul_(0.99).add_(b, alpha=0.01)
        k = nn.functional.normalize(key(x + 0.1 * torch.randn(16, 8)), dim=1)
    logits = torch.cat([(q * k).sum(dim=1, keepdim=True), q @ queue.T], dim=1) / 0.2
    loss = nn.functional.cross_entropy(logits, torch.zeros(16, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    queue = torch.cat([k, queue])[:64]
