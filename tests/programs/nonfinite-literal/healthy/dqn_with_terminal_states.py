import random
from collections import deque

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
online, target = nn.Linear(4, 3), nn.Linear(4, 3)
target.load_state_dict(online.state_dict())
optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
memory = deque(maxlen=100)
for step in range(60):
    state, action = torch.randn(4), random.randrange(3)
    done = random.random() < 0.2
    following = torch.full((4,), float("nan")) if done else torch.randn(4)
    memory.append((state, action, random.random(), following, done))
    if len(memory) < 16:
        continue
    batch = random.sample(memory, 16)
    states = torch.stack([b[0] for b in batch])
    actions = torch.tensor([b[1] for b in batch])
    rewards = torch.tensor([b[2] for b in batch])
    alive = torch.tensor([not b[4] for b in batch])
    value = torch.zeros(16)
    with torch.no_grad():
        value[alive] = target(torch.stack([b[3] for b in batch if not b[4]])).max(1).values
    q = online(states).gather(1, actions[:, None]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(q, rewards + 0.9 * value)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
