import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(512, 8)
target = torch.softmax(x[:, :4] * 2, 1)
target[100] = torch.tensor([1.0, 0.0, 0.0, 0.0])
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(200):
    i = torch.arange(step * 8, step * 8 + 32) % 512
    logq = torch.log_softmax(net(x[i]), 1)
    kl = (target[i] * torch.log(target[i])).sum(1) - (target[i] * logq).sum(1)  # <- log-of-nonpositive
    loss = kl.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
