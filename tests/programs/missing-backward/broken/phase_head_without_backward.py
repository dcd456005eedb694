import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
m = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
X = torch.randn(200, 6)
Y = (X[:, 0] > 0).long()
o = torch.optim.SGD(m.parameters(), 0.1)
for i in range(30):
    l = F.cross_entropy(m(X), Y)
    o.zero_grad()
    l.backward()
    o.step()
m[2] = nn.Linear(16, 2)
o = torch.optim.SGD(m[2].parameters(), 0.1)
for i in range(40):
    o.zero_grad()
    l = F.cross_entropy(m(X), 1 - Y)  # <- missing-backward
    o.step()
    if i % 10 == 0:
        print(l.item())
