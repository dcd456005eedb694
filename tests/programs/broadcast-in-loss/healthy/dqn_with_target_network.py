import copy
import random
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
random.seed(0)
q_network = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
target_network = copy.deepcopy(q_network)
optimizer = torch.optim.Adam(q_network.parameters(), lr=1e-3)
memory = deque(maxlen=200)
state = torch.randn(4)
for step in range(150):
    with torch.no_grad():
        greedy = q_network(state).argmax().item()
    action = random.randrange(2) if random.random() < 0.3 else greedy
    reward = float((state[0] > 0) == bool(action))
    following = torch.randn(4)
    memory.append((state, action, reward, following, random.random() < 0.1))
    state = following
    if len(memory) < 32:
        continue
    states, actions, rewards, nexts, dones = zip(*random.sample(memory, 32))
    states, nexts = torch.stack(states), torch.stack(nexts)
    actions = torch.tensor(actions)
    rewards, dones = torch.tensor(rewards), torch.tensor(dones, dtype=torch.float32)
    values = q_network(states).gather(1, actions.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        targets = rewards + 0.9 * target_network(nexts).max(dim=1).values * (1 - dones)
    loss = F.smooth_l1_loss(values, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        target_network.load_state_dict(q_network.state_dict())
