import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(400, 8)
y = (x[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
known = torch.arange(40)
for round_ in range(6):
    for epoch in range(4):
        for rows in known[torch.randperm(len(known))].split(20):
            loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        p = net(x).softmax(1)
    doubt = (p[:, 0] - 0.5).abs()
    doubt[known] = 9.0
    known = torch.cat([known, doubt.argsort()[:20]])
