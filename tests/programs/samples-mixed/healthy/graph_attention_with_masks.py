# full-batch node classification, train/val masks, scatter softmax; evaluation on the same forward
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
N = 120; y = torch.randint(0, 3, (N,)); p = torch.where(y[:, None] == y[None], .12, .01); adj = torch.triu(torch.rand(N, N) < p, 1); ei = adj.nonzero().T; ei = torch.cat([ei, ei.flip(0), torch.arange(N).repeat(2, 1)], 1); X = F.one_hot(y, 3).float() + torch.randn(N, 3)
train_mask = torch.zeros(N, dtype=torch.bool); train_mask[:40] = True; val_mask = ~train_mask
class GAT(nn.Module):
    def __init__(self, i, o, h=2): super().__init__(); self.h, self.o = h, o; self.W = nn.Linear(i, h * o, bias=False); self.a, self.b = nn.Parameter(torch.randn(h, o) * .1), nn.Parameter(torch.randn(h, o) * .1)
    def forward(self, x, ei):
        z = self.W(x).view(-1, self.h, self.o); s, d = ei; e = F.leaky_relu((z * self.a).sum(-1)[s] + (z * self.b).sum(-1)[d], .2)
        m = torch.full((len(x), self.h), -torch.inf).scatter_reduce(0, d[:, None].expand_as(e), e, "amax"); w = (e - m[d]).exp(); den = torch.zeros(len(x), self.h).index_add(0, d, w); al = F.dropout(w / den[d], .3, self.training)
        return torch.zeros_like(z).index_add(0, d, al[..., None] * z[s]).flatten(1)
class Net(nn.Module):
    def __init__(self): super().__init__(); self.g1, self.g2 = GAT(3, 8), GAT(16, 3, 1)
    def forward(self, x, ei): return self.g2(F.elu(self.g1(F.dropout(x, .3, self.training), ei)), ei)
net = Net(); opt = torch.optim.Adam(net.parameters(), .01, weight_decay=5e-4)
def test():
    net.eval()
    with torch.no_grad(): pred = net(X, ei).argmax(1)
    return [(pred[m] == y[m]).float().mean().item() for m in (train_mask, val_mask)]
for e in range(60):
    net.train(); opt.zero_grad(); out = net(X, ei); loss = F.cross_entropy(out[train_mask], y[train_mask]); loss.backward(); opt.step()
    if e % 20 == 0: print(e, round(loss.item(), 3), test())
print(test())
