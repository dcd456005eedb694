import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)
teacher = torch.randn(5, 3)
for step in range(120):
    x = torch.randn(64, 5)
    loss = nn.functional.cross_entropy(net(x), (x @ teacher).argmax(1))
    with torch.no_grad():
        size = sum(p.pow(2).sum() for p in net.parameters())
    shown = loss + 0.5 * 1e-2 * size
    optimizer.zero_grad()
    shown.backward()
    optimizer.step()
