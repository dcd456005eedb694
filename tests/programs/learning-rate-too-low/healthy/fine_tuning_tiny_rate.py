import torch
from torch import nn
torch.manual_seed(0)
body = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
head = nn.Linear(64, 3)
x = torch.randn(512, 10); y = x[:, :3].argmax(1)
pre = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=1e-3)
for _ in range(60):
    loss = nn.functional.cross_entropy(head(body(x)), y)
    pre.zero_grad(); loss.backward(); pre.step()
y2 = x[:, 3:6].argmax(1)
tune = torch.optim.Adam([{"params": body.parameters(), "lr": 1e-6}, {"params": head.parameters(), "lr": 5e-4}])
for _ in range(150):
    loss = nn.functional.cross_entropy(head(body(x)), y2)
    tune.zero_grad(); loss.backward(); tune.step()
