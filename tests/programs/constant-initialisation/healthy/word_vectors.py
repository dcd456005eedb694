import torch
from torch import nn
torch.manual_seed(0)
u, v = nn.Embedding(200, 16), nn.Embedding(200, 16)
nn.init.zeros_(v.weight)
opt = torch.optim.SGD([*u.parameters(), *v.parameters()], lr=0.5)
for i in range(300):
    c = torch.randint(0, 200, (64,)); o = (c + torch.randint(1, 3, (64,))) % 200; n = torch.randint(0, 200, (64, 5))
    pos = (u(c) * v(o)).sum(1); neg = (u(c)[:, None] * v(n)).sum(2)
    loss = -nn.functional.logsigmoid(pos).mean() - nn.functional.logsigmoid(-neg).mean()
    opt.zero_grad(); loss.backward(); opt.step()
