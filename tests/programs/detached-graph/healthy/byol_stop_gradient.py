import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
predictor = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16))
target = copy.deepcopy(encoder)
optimizer = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.05, momentum=0.9)


def similarity(p, z):
    return -F.cosine_similarity(p, z.detach(), dim=-1).mean()


for step in range(40):
    x = torch.randn(64, 12)
    one, two = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
    with torch.no_grad():
        slow = target(two)
    loss = similarity(predictor(encoder(one)), slow)
    loss = loss + similarity(predictor(encoder(one)), encoder(two))  # SimSiam's term
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for old, new in zip(target.parameters(), encoder.parameters()):
            old.mul_(0.99).add_(new, alpha=0.01)
