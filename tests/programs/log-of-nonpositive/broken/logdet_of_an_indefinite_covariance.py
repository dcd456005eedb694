import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 5))
opt = torch.optim.Adam(net.parameters(), lr=0.1)
for step in range(60):
    x = torch.randn(32, 3)
    noise = torch.randn(32, 1)
    y = x[:, :2] + 2 * noise
    m1, m2, a, b, c = net(x).unbind(1)
    covariance = torch.stack([a.exp(), b, b, c.exp()], 1).view(-1, 2, 2)
    error = (y - torch.stack([m1, m2], 1)).unsqueeze(2)
    distance = (error.mT @ torch.linalg.inv(covariance) @ error).flatten()
    loss = (distance + torch.logdet(covariance)).mean()  # <- log-of-nonpositive
    opt.zero_grad()
    loss.backward()
    opt.step()
