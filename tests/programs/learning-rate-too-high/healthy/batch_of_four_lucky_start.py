import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(878)
N, D, C = (500, 6, 2)
X = torch.randn(N, D) * 5 + 10
Z = (X - 10) / 5
y = (1 * (torch.sin(Z[:, 0]) + Z[:, 1] + 0.5 * torch.randn(N)) + 0).unsqueeze(1)

def layer(i, o):
    parts = [nn.Linear(i, o)]
    parts.append(nn.ReLU())
    parts.append(nn.Dropout(0.2))
    return parts
h = 128
mods = layer(D, h)
for _ in range(6 - 1):
    mods += layer(h, h)
mods.append(nn.Linear(h, 1))
net = nn.Sequential(*mods)
loss_fn = nn.SmoothL1Loss()
opt = torch.optim.AdamW(net.parameters(), lr=0.001, weight_decay=0.5)
loader = DataLoader(TensorDataset(X, y), batch_size=4, shuffle=True, drop_last=False)

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
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        k += 1
        if k >= 300:
            break
    if k >= 300:
        break
last = evaluate()
print(round(first, 4), round(last, 4))
