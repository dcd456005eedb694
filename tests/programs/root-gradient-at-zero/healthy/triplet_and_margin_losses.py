import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    anchor = torch.randn(32, 8)
    a, p, n = net(anchor), net(anchor + 0.1 * torch.randn(32, 8)), net(torch.randn(32, 8))
    triplet = F.triplet_margin_loss(a, p, n)
    positive, negative = (a - p).norm(dim=1), (a - n).norm(dim=1)
    by_hand = torch.relu(positive - negative + 1.0).mean()
    ranking = F.margin_ranking_loss(negative, positive, torch.ones(32), margin=0.5)
    loss = triplet + by_hand + ranking
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
