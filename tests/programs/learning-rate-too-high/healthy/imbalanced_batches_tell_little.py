import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(402)
N, D, C = (500, 64, 5)
X = torch.randn(N, D) * 1 + 10
Z = (X - 10) / 1
y = (Z[:, 0] + 0 * torch.randn(N) > 1.0).float().unsqueeze(1)

def layer(i, o):
    parts = [nn.Linear(i, o)]
    parts.append(nn.LayerNorm(o))
    parts.append(nn.LeakyReLU())
    return parts
h = 128
mods = layer(D, h)
for _ in range(3 - 1):
    mods += layer(h, h)
mods.append(nn.Linear(h, 1))
net = nn.Sequential(*mods)
loss_fn = nn.BCEWithLogitsLoss()
opt = torch.optim.Adam(net.parameters(), lr=0.03)
loader = DataLoader(TensorDataset(X, y), batch_size=16, shuffle=True, drop_last=False)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=opt.param_groups[0]['lr'] * 3, total_steps=81)

def evaluate():
    net.eval()
    with torch.no_grad():
        v = loss_fn(net(X), y).item()
    net.train()
    return v
first = evaluate()
k = 0
for epoch in range(100):
    for xb, yb in loader:
        out = net(xb)
        loss = loss_fn(out, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        k += 1
        sched.step()
        if k >= 80:
            break
    if k >= 80:
        break
last = evaluate()
print(round(first, 4), round(last, 4))
