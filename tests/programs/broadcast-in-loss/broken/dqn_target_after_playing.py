import random
from collections import deque
import torch
import torch.nn as nn

class DQN(nn.Module):
    def __init__(self, s, a):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(s, 64), nn.ReLU(), nn.Linear(64, a))
    def forward(self, x): return self.net(x)

class ReplayBuffer:
    def __init__(self, cap): self.buf = deque(maxlen=cap)
    def push(self, *t): self.buf.append(t)
    def sample(self, n):
        s, a, r, s2, d = zip(*random.sample(self.buf, n))
        return torch.stack(s), torch.tensor(a), torch.tensor(r), torch.stack(s2), torch.tensor(d, dtype=torch.float32)
    def __len__(self): return len(self.buf)

def optimize(policy, target, opt, buf, gamma=0.95):
    s, a, r, s2, d = buf.sample(32)
    q = policy(s).gather(1, a.unsqueeze(1))
    with torch.no_grad():
        nxt = target(s2).max(1)[0]
    expected = r + gamma * nxt * (1 - d)
    loss = nn.functional.smooth_l1_loss(q, expected)  # <- broadcast-in-loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()

torch.manual_seed(0); random.seed(0)
policy, target = DQN(3, 2), DQN(3, 2)
target.load_state_dict(policy.state_dict())
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
buf = ReplayBuffer(1000)
state = torch.randn(3)
for step in range(200):
    with torch.no_grad():
        action = random.randrange(2) if random.random() < 0.3 else policy(state).argmax().item()
    reward = float((state.sum() > 0) == (action == 1))
    nxt = torch.randn(3)
    buf.push(state, action, reward, nxt, step % 10 == 9)
    state = nxt
    if len(buf) >= 64:
        loss = optimize(policy, target, opt, buf)
    if step % 50 == 0:
        target.load_state_dict(policy.state_dict())
print(loss)
