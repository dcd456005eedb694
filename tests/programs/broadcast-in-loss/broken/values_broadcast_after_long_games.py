"""Actor-critic: hundreds of moves are played before the first update, whose value loss broadcasts."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.actor, self.critic = nn.Linear(32, 2), nn.Linear(32, 1)

    def forward(self, state):
        features = self.body(state)
        return Categorical(logits=self.actor(features)), self.critic(features)


net = ActorCritic()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for update in range(12):
    states, actions, rewards = [], [], []
    with torch.no_grad():
        state = torch.randn(4)
        for move in range(256):
            policy, _ = net(state)
            action = policy.sample()
            states.append(state)
            actions.append(action)
            rewards.append(float(action == (state[0] > 0)))
            state = torch.randn(4)
    policy, values = net(torch.stack(states))
    returns = torch.tensor(rewards)
    advantages = returns - values.squeeze(1).detach()
    policy_loss = -(policy.log_prob(torch.stack(actions)) * advantages).mean()
    value_loss = nn.functional.mse_loss(values, returns)  # <- broadcast-in-loss
    loss = policy_loss + 0.5 * value_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(update, sum(rewards) / len(rewards))
