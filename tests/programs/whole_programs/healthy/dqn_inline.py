import random, collections
import torch, torch.nn as nn
random.seed(0); torch.manual_seed(0)
class Q(nn.Module):
    def __init__(self): super().__init__(); self.net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    def forward(self, s): return self.net(s)
q, target = Q(), Q(); target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-3); buffer = collections.deque(maxlen=500)
def env(s, a):
    s2 = (s + (0.1 if a else -0.1)).clamp(-1, 1) + 0.01 * torch.randn(4); r = -s2.abs().sum().item()
    return s2, r, random.random() < 0.05
s = torch.randn(4); eps = 1.0
for step in range(600):
    if random.random() < eps: a = random.randrange(2)
    else:
        with torch.no_grad(): a = q(s).argmax().item()
    s2, r, done = env(s, a); buffer.append((s, a, r, s2, done)); s = torch.randn(4) if done else s2; eps = max(0.05, eps * 0.99)
    if len(buffer) < 64: continue
    S, A, R, S2, D = zip(*random.sample(buffer, 32))
    S, S2 = torch.stack(S), torch.stack(S2); A, R, D = torch.tensor(A), torch.tensor(R), torch.tensor(D, dtype=torch.float32)
    with torch.no_grad(): y = R + 0.9 * target(S2).max(1).values * (1 - D)
    loss = nn.functional.smooth_l1_loss(q(S).gather(1, A[:, None]).squeeze(1), y)
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 50 == 0: target.load_state_dict(q.state_dict())
