import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 2)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
x = torch.randn(200, 4)
for step in range(20):
    mean, scale = net(x).unbind(1)
    loss = -torch.distributions.Normal(mean, scale).log_prob(x[:, 0]).mean()  # <- unexplained-error
    opt.zero_grad()
    loss.backward()
    opt.step()
