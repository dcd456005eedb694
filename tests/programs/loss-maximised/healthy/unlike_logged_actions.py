import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
states = torch.randn(512, 6)
logged = states @ torch.randn(6, 8) + 0.2 * torch.randn(512, 8)
policy = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 8))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for step in range(100):
    rows = torch.randint(0, 512, (64,))
    loss = F.cosine_similarity(policy(states[rows]), logged[rows], dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
