import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(600, 6)
y = (x[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), 0.002)


def kl(p, q):
    return (p * (p.log() - q.log())).sum(1).mean()


for s in range(80):
    i, j = (torch.randint(0, 50, (16,)), torch.randint(0, 600, (64,)))
    with torch.no_grad():
        p = net(x[j]).softmax(1)
    d = F.normalize(torch.randn(64, 6)).mul(0.01).requires_grad_()
    g = torch.autograd.grad(kl(p, net(x[j] + d).softmax(1)), d)[0]
    adv = F.normalize(g)
    loss = (
        F.cross_entropy(net(x[i]), y[i])
        + kl(p, net(x[j] + 0.3 * adv).softmax(1))
        + ((p * p.log()).sum(1).mean() - (p * p.log()).sum(1).mean())
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
