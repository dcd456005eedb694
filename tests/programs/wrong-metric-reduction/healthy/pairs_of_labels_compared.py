import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
centers = torch.randn(6, 12) * 2
net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(net.parameters(), 2e-3)


def batch(n):
    labels = torch.randint(0, 6, (n,))
    return centers[labels] + torch.randn(n, 12), labels


def recall(x, labels):
    with torch.no_grad():
        z = F.normalize(net(x), dim=1)
        sim = z @ z.t()
        sim.fill_diagonal_(-2)
        column = labels.view(-1, 1)
        match = column == labels
        hits = match.gather(1, sim.argmax(1, keepdim=True))
        share = (column == labels).float().sum(1).mean().item()
        return hits.float().mean().item(), share


for step in range(120):
    x, labels = batch(48)
    z = F.normalize(net(x), dim=1)
    logits = (z @ z.t() / 0.2).masked_fill(torch.eye(48, dtype=torch.bool), -1e9)
    positive = (labels[:, None] == labels) & ~torch.eye(48, dtype=torch.bool)
    log_prob = logits.log_softmax(1)
    loss = -(log_prob * positive).sum() / positive.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, loss.item(), recall(*batch(100)))
