import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(300, 8)
y = (x[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=0.001)
for step in range(80):
    i = torch.randint(0, 300, (32,))
    out = net(x[i])
    accuracy = (out.argmax(1) == y[i]).float().mean()
    loss = nn.functional.cross_entropy(out, y[i]) + (1 - accuracy)  # <- detached-loss-term
    opt.zero_grad()
    loss.backward()
    opt.step()
