import random
from collections import deque, namedtuple

import torch
from torch import nn

Transition = namedtuple("Transition", "state action reward following")


class Memory:
    def __init__(self, capacity):
        self.capacity = capacity
        self.items = []
        self.position = 0

    def push(self, item):
        if len(self.items) < self.capacity:
            self.items.append(None)
        self.items[self.position] = item
        self.position = (self.position + 1) % self.capacity

    def sample(self, count):
        return random.sample(self.items, count)


torch.manual_seed(0)
random.seed(0)
value = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2))
policy = nn.Linear(16, 2)
optimizer = torch.optim.Adam([*value.parameters(), *policy.parameters()], lr=1e-3)
memory, recent = Memory(1000), deque(maxlen=500)
rewards = []
for episode in range(40):
    state = torch.randn(16)
    log_probabilities = []
    for _ in range(5):
        choice = torch.distributions.Categorical(logits=policy(state))
        action = choice.sample()
        log_probabilities.append(choice.log_prob(action))
        following = torch.randn(16)
        memory.push(Transition(state, action, state.sum() * (action * 2 - 1), following))
        recent.append((state, action))
        state = following
    batch = memory.sample(4)
    states = torch.stack([t.state for t in batch])
    gain = torch.stack([t.reward for t in batch])
    actions = torch.stack([t.action for t in batch])
    predicted = value(states).gather(1, actions[:, None]).squeeze(1)
    loss = (
        nn.functional.smooth_l1_loss(predicted, gain) - 0.01 * torch.stack(log_probabilities).mean()
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    rewards.append(gain.mean())
print(torch.stack(rewards).mean(), len(recent))
