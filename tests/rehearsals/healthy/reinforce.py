import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for _ in range(30):
    state = torch.randn(32, 3)
    choice = Categorical(logits=policy(state))
    action = choice.sample()
    reward = torch.where(action == (state[:, 0] > 0).long(), 1.0, -1.0) + 0.5 * torch.randn(32)
    loss = -(choice.log_prob(action) * (reward - reward.mean())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
