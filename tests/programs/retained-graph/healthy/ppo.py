import torch
from torch import nn


class Rollout:
    def __init__(self):
        self.clear()

    def clear(self):
        self.states, self.actions, self.log_probs = [], [], []


torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(64, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
rollout = Rollout()
for iteration in range(6):
    for _ in range(20):
        state = torch.randn(64)
        choice = torch.distributions.Categorical(logits=policy(state))
        action = choice.sample()
        rollout.states.append(state)
        rollout.actions.append(action)
        rollout.log_probs.append(choice.log_prob(action))
    states, actions = torch.stack(rollout.states), torch.stack(rollout.actions)
    old = torch.stack(rollout.log_probs).detach()
    gain = states.sum(dim=1).sign() * (actions * 2 - 1)
    for _ in range(8):
        new = torch.distributions.Categorical(logits=policy(states)).log_prob(actions)
        ratio = (new - old).exp()
        loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    rollout.clear()
