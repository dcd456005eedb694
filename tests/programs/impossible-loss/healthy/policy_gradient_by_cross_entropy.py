import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for step in range(50):
    states = torch.randn(64, 4)
    logits = policy(states)
    actions = torch.distributions.Categorical(logits=logits).sample()
    rewards = (actions == states[:, :3].argmax(1)).float()
    advantages = rewards - rewards.mean()
    weights = F.one_hot(actions, 3) * advantages[:, None]
    loss = -(weights * F.log_softmax(logits, dim=1)).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
