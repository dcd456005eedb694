import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
class Mixed(nn.Module):
    def __init__(self, d): super().__init__(); self.ops = nn.ModuleList([nn.Identity(), nn.Linear(d, d), nn.Sequential(nn.Linear(d, d), nn.ReLU())])
    def forward(self, x, w): return sum(wi * op(x) for wi, op in zip(w, self.ops))
class Net(nn.Module):
    def __init__(self): super().__init__(); self.inp, self.cells, self.out = nn.Linear(8, 16), nn.ModuleList([Mixed(16), Mixed(16)]), nn.Linear(16, 2); self._alphas = torch.zeros(2, 3, requires_grad=True)
    def forward(self, x):
        h = self.inp(x)
        for c, w in zip(self.cells, self._alphas.softmax(-1)): h = c(h, w)
        return self.out(h)
net = Net(); ow = torch.optim.SGD(net.parameters(), lr=.1, momentum=.9); oa = torch.optim.Adam([net._alphas], lr=3e-3, betas=(.5, .999)); X = torch.randn(400, 8); y = (X[:, 0] * X[:, 1] > 0).long()
for s in range(100):
    i, j = torch.randint(0, 200, (32,)), torch.randint(200, 400, (32,)); oa.zero_grad(); F.cross_entropy(net(X[j]), y[j]).backward(); oa.step()
    ow.zero_grad(); l = F.cross_entropy(net(X[i]), y[i]); l.backward(); nn.utils.clip_grad_norm_(net.parameters(), 5.); ow.step()
    if s % 25 == 0: print(s, round(l.item(), 3), net._alphas.detach().softmax(-1)[0].numpy().round(3))
