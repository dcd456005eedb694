import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(882)
N, D, C = (32, 20, 5)
X = torch.randn(N, D) * 1 + 1
Z = (X - 1) / 1
y = (1 * (torch.sin(Z[:, 0]) + Z[:, 1] + 0 * torch.randn(N)) + 0).unsqueeze(1)

def layer(i, o):
    parts = [nn.Linear(i, o)]
    parts.append(nn.LeakyReLU())
    return parts
h = 32
mods = layer(D, h)
for _ in range(6 - 1):
    mods += layer(h, h)
mods.append(nn.Linear(h, 1))
net = nn.Sequential(*mods)
loss_fn = nn.L1Loss()
opt = torch.optim.NAdam(net.parameters(), lr=0.002)
loader = DataLoader(TensorDataset(X, y), batch_size=1, shuffle=True, drop_last=False)

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
        if k >= 80:
            break
    if k >= 80:
        break
last = evaluate()
print(round(first, 4), round(last, 4))
