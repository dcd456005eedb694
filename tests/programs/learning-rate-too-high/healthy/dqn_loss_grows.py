import copy, random
import torch
from torch import nn
torch.manual_seed(0); random.seed(0)
q = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
buffer = []
s = torch.randn(4)
for step in range(400):
    a = random.randrange(2) if random.random() < 0.2 else int(q(s).argmax())
    s2 = torch.tanh(s + 0.3 * torch.randn(4) + (a - 0.5))
    r = float(s2.sum() + 1)
    buffer.append((s, a, r, s2)); buffer = buffer[-500:]
    s = s2
    if len(buffer) < 32: continue
    b = random.sample(buffer, 32)
    S = torch.stack([t[0] for t in b]); A = torch.tensor([t[1] for t in b]); R = torch.tensor([t[2] for t in b]); S2 = torch.stack([t[3] for t in b])
    with torch.no_grad():
        y = R + 0.99 * target(S2).max(1).values
    loss = nn.functional.smooth_l1_loss(q(S).gather(1, A[:, None])[:, 0], y)
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 50 == 0: target.load_state_dict(q.state_dict())
