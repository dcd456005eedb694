import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
state = torch.zeros(32, 3)
for step in range(40):
    flags = torch.rand(32).long()
    y = torch.randn(32, 1) + 2 + flags[:, None]
    loss = nn.functional.mse_loss(net(state), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
