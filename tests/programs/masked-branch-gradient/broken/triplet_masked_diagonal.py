"""Batch-hard triplets: the diagonal of the distance matrix is masked away, its gradient is not."""
import torch
from torch import nn


def distances(z):
    square = (z * z).sum(1)
    d2 = square[:, None] + square[None, :] - 2 * z @ z.T
    d2 = d2.clamp(min=0) * (1 - torch.eye(len(z)))
    return d2.sqrt()  # <- masked-branch-gradient


def triplet(z, labels, margin):
    d = distances(z)
    others = ~torch.eye(len(z), dtype=torch.bool)
    same = (labels[:, None] == labels[None]) & others
    hardest_positive = torch.where(same, d, torch.zeros_like(d)).sum(1) / same.sum(1).clamp(min=1)
    different = (labels[:, None] != labels[None])
    mean_negative = torch.where(different, d, torch.zeros_like(d)).sum(1) / different.sum(1).clamp(min=1)
    return torch.relu(hardest_positive - mean_negative + margin).mean()


torch.manual_seed(0)
net = nn.Linear(8, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for step in range(4):
    loss = triplet(net(torch.randn(9, 8)), torch.arange(9) % 3, margin=0.5)
    opt.zero_grad()
    loss.backward()
    opt.step()
