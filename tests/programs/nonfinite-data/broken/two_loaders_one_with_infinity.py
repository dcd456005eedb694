import torch
from torch import nn
import torch.nn.functional as F
from itertools import cycle
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, x):
        return self.f(x)


def labelled(n=90):
    x = torch.randn(n, 5)
    y = x[:, :3].argmax(1)
    x[61, 2] = float("inf")
    return TensorDataset(x, y)


def consistency(net, u):
    with torch.no_grad():
        p = net(u).softmax(1)
    return F.kl_div(net(u + 0.05 * torch.randn_like(u)).log_softmax(1), p, reduction="batchmean")


def main(epochs=4):
    net = Net()
    opt = torch.optim.Adam(net.parameters(), 5e-3)
    sup = DataLoader(labelled(), 15, shuffle=False)
    uns = DataLoader(TensorDataset(torch.randn(600, 5)), 15, shuffle=True)
    for epoch in range(epochs):
        for (x, y), (u,) in zip(cycle(sup), uns):  # <- nonfinite-data
            loss = F.cross_entropy(net(x), y) + 0.3 * consistency(net, u)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


main()
