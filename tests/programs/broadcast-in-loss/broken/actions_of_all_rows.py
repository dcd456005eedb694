import random
from collections import deque

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 4))

    def forward(self, s):
        return self.net(s)


policy, target = QNet(), QNet()
target.load_state_dict(policy.state_dict())
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
memory = deque(maxlen=2000)
state = torch.randn(6)
for t in range(300):
    with torch.no_grad():
        action = random.randrange(4) if random.random() < 0.2 else policy(state).argmax().item()
    reward = float(state[action] > 0)
    nxt = torch.randn(6)
    memory.append((state, action, reward, nxt, t % 20 == 19))
    state = nxt
    if len(memory) < 100:
        continue
    batch = random.sample(memory, 32)
    s = torch.stack([b[0] for b in batch])
    a = torch.tensor([b[1] for b in batch])
    r = torch.tensor([b[2] for b in batch])
    s2 = torch.stack([b[3] for b in batch])
    done = torch.tensor([b[4] for b in batch]).float()
    q = policy(s)[:, a]  # <- broadcast-in-loss
    with torch.no_grad():
        y = r + 0.5 * (1 - done) * target(s2).max(1).values
    loss = (q - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if t % 100 == 0:
        target.load_state_dict(policy.state_dict())
        print(t, loss.item())
