import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for update in range(80):
    seen = torch.randn(64, 4)
    with torch.no_grad():
        behaviour = Categorical(logits=policy(seen))
        action = behaviour.sample()
        old = behaviour.log_prob(action)
        reward = (action == seen[:, :3].argmax(1)).float()
    new = Categorical(logits=policy(seen)).log_prob(action)
    approximate_kl = old.mean() - new.mean()
    loss = -(new * (reward - reward.mean())).mean() + 0.02 * approximate_kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
