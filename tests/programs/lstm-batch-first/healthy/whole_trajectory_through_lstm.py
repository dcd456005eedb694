import torch
from torch import nn
from torch.distributions import Categorical


class Recurrent(nn.Module):
    """One episode at a time, without a batch: (time, features)."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 12)
        self.policy, self.value = nn.Linear(12, 2), nn.Linear(12, 1)

    def forward(self, states):
        hidden, _ = self.lstm(states)
        return self.policy(hidden), self.value(hidden).squeeze(-1)


torch.manual_seed(0)
agent = Recurrent()
optimizer = torch.optim.Adam(agent.parameters(), lr=1e-2)
for episode in range(30):
    states = torch.randn(15, 4)
    logits, values = agent(states)
    policy = Categorical(logits=logits)
    actions = policy.sample()
    rewards = (actions == (states[:, 0] > 0).long()).float()
    returns = rewards.flip(0).cumsum(0).flip(0) / 15
    advantages = returns - values.detach()
    loss = -(policy.log_prob(actions) * advantages).mean() + (returns - values).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
