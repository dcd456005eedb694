import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(0, 1, 64)[:, None]
net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))


def residual():
    t = x.clone().requires_grad_(True)
    u = net(t)
    du, = torch.autograd.grad(u.sum(), t, create_graph=True)
    return (du - torch.cos(6 * t)).pow(2).mean() + net(torch.zeros(1, 1)).pow(2).sum()


adam = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(150):
    adam.zero_grad()
    loss = residual()
    loss.backward()
    adam.step()
print("adam", loss.item())
lbfgs = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=10)


def closure():
    lbfgs.zero_grad()
    loss = residual()
    loss.backward()
    return loss


for i in range(8):
    loss = lbfgs.step(closure)
print("lbfgs", loss.item())
