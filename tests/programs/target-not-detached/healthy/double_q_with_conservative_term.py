import copy
import torch
from torch import nn

torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 3))
target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), 1e-3)
s = torch.randn(1500, 4)
a = torch.randint(0, 3, (1500,))
s2 = s * 0.6 + a[:, None] * 0.2 - 0.2
r = -s2.pow(2).sum(1)
for step in range(200):
    i = torch.randint(0, 1500, (64,))
    with torch.no_grad():
        best = q(s2[i]).argmax(1, keepdim=True)
        backup = r[i] + 0.9 * target(s2[i]).gather(1, best).squeeze(1)
    values = q(s[i])
    taken = values.gather(1, a[i, None]).squeeze(1)
    conservative = (torch.logsumexp(values, 1) - taken).mean()
    loss = nn.functional.mse_loss(taken, backup) + 0.1 * conservative
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        target.load_state_dict(q.state_dict())
print(loss.item())
