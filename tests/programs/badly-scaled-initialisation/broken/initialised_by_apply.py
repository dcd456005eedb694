import torch
from torch import nn


def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, mean=0.0, std=3.0)  # <- badly-scaled-initialisation
        nn.init.zeros_(m.bias)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4))
net.apply(init_weights)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(60):
    x = torch.randn(64, 20)
    y = x[:, :4].argmax(1)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
