import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 40), nn.BatchNorm1d(40), nn.ReLU(), nn.Linear(40, 2))
opt = torch.optim.Adam(net.parameters(), 3e-3)
x = torch.randn(500, 10)
y = (x[:, :2].sum(1) > 0).long()


def loss_of(a, b):
    return nn.functional.cross_entropy(net(a), b)


def attack(a, b):
    net.eval()
    a = a.clone().requires_grad_()
    g, = torch.autograd.grad(loss_of(a, b), a)
    net.train()
    return (a + 0.1 * g.sign()).detach()


for epoch in range(4):
    for rows in torch.randperm(400).split(40):
        adv = attack(x[rows], y[rows])
        loss = loss_of(adv, y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(epoch, loss_of(x[400:], y[400:]).item())
    net.train()
