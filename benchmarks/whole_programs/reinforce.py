"""A policy gradient: thousands of moves in an environment written in tensors before the first update."""

import torch
from laps import lap
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)


def play(length):
    state = torch.randn(4) * 0.05
    log_probabilities, rewards = [], []
    for _ in range(length):
        choice = torch.distributions.Categorical(logits=policy(state))
        action = choice.sample()
        force = action.float() * 2 - 1
        push = torch.stack([state[1], force * 0.1 - state[2] * 0.05, state[3], state[2] * 0.1 - force * 0.1])
        state = (state + 0.02 * push).clamp(-2, 2)
        log_probabilities.append(choice.log_prob(action))
        rewards.append(1.0 - state[2].abs())
    return torch.stack(log_probabilities), torch.stack(rewards)


lap()
for update in range(52):
    losses, returns = [], []
    for _ in range(10):
        log_probability, reward = play(100)
        gain = reward.flip(0).cumsum(0).flip(0)
        losses.append(-(log_probability * (gain - gain.mean()) / (gain.std() + 1e-6)).sum())
        returns.append(reward.sum())
    loss = torch.stack(losses).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    lap()
    print(update, loss.item(), torch.stack(returns).mean().item())
