import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
old_policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
old_policy.load_state_dict(policy.state_dict())
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for update in range(30):
    state = torch.randn(128, 4)
    with torch.no_grad():
        before = torch.distributions.Categorical(logits=old_policy(state))
        action = before.sample()
    advantage = (action == (state[:, 0] > 0).long()).float() - 0.5
    now = torch.distributions.Categorical(logits=policy(state))
    ratio = (now.log_prob(action) - before.log_prob(action)).exp()
    loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    old_policy.load_state_dict(policy.state_dict())
