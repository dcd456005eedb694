import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


def scatter_mean(src, index, n):
    out = torch.zeros(n, src.shape[1]).index_add(0, index, src)
    count = torch.zeros(n).index_add(0, index, torch.ones(len(index)))
    return out / count.clamp(min=1)[:, None]


class SAGE(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.own, self.nbr = nn.Linear(i, o), nn.Linear(i, o)

    def forward(self, x, edge):
        return self.own(x) + self.nbr(scatter_mean(x[edge[0]], edge[1], len(x)))  # <- index-out-of-range


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = SAGE(4, 16), SAGE(16, 2)

    def forward(self, x, edge, batch, graphs):
        h = F.relu(self.a(x, edge))
        return scatter_mean(self.b(h, edge), batch, graphs)


def collate(graphs):
    xs, es, bs, ys, off = [], [], [], [], 0
    for g, (x, e, y) in enumerate(graphs):
        xs.append(x); es.append(e + off); bs.append(torch.full((len(x),), g)); ys.append(y)
        off += len(x)
    return torch.cat(xs), torch.cat(es, 1), torch.cat(bs), torch.tensor(ys)


def graph(k):
    n = 4 + k % 5
    x = torch.randn(n, 4) + (k % 2)
    e = torch.stack([torch.arange(n), torch.arange(n).roll(1)])
    if k == 23:
        e = e + 1
    return x, e, k % 2


def main():
    graphs = [graph(k) for k in range(40)]
    net = Net()
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    for epoch in range(4):
        for i in range(0, 40, 8):
            x, e, b, y = collate(graphs[i : i + 8])
            loss = F.cross_entropy(net(x, e, b, 8), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


main()
