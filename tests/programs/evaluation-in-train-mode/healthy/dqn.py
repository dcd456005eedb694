import copy, random
from collections import deque
import torch
from torch import nn
torch.manual_seed(0); random.seed(0)
class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 2))
    def forward(self, s):
        return self.net(s)
policy = QNet()
target = QNet()
target.load_state_dict(policy.state_dict())
target.eval()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
buffer = deque(maxlen=200)
state = torch.randn(4)
for t in range(200):
    with torch.no_grad():
        action = policy(state).argmax().item() if random.random() > 0.2 else random.randrange(2)
    nxt = torch.tanh(state + 0.1 * torch.randn(4) + (action - 0.5))
    reward = -nxt.abs().sum().item()
    buffer.append((state, action, reward, nxt))
    state = nxt
    if len(buffer) > 32 and t % 4 == 0:
        batch = random.sample(list(buffer), 32)
        s = torch.stack([b[0] for b in batch]); a = torch.tensor([b[1] for b in batch])
        r = torch.tensor([b[2] for b in batch]); n = torch.stack([b[3] for b in batch])
        with torch.no_grad():
            goal = r + 0.9 * target(n).max(1).values
        q = policy(s).gather(1, a[:, None])[:, 0]
        loss = nn.functional.smooth_l1_loss(q, goal)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy.parameters(), 100)
        optimizer.step()
    if t % 50 == 0:
        target.load_state_dict(policy.state_dict())
