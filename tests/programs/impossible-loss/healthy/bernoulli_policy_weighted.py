import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
policy = nn.Linear(4, 1)
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for step in range(50):
    states = torch.randn(64, 4)
    logits = policy(states).squeeze(1)
    actions = torch.bernoulli(torch.sigmoid(logits.detach()))
    rewards = (actions == (states[:, 0] > 0)).float()
    loss = F.binary_cross_entropy_with_logits(logits, actions, weight=rewards - rewards.mean())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
