import torch
from torch import nn

torch.manual_seed(0)
x = torch.randint(0, 3, (400, 4)).float()
y = (x.sum(1) > 4).long()
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(10):
    for k in range(0, 300, 50):
        loss = nn.functional.cross_entropy(net(x[k : k + 50]), y[k : k + 50])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print((net(x[300:]).argmax(1) == y[300:]).float().mean().item())
