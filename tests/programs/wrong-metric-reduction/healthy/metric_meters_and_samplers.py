import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, Subset, SubsetRandomSampler


class AverageMeter:
    def __init__(self): self.sum = 0.0; self.n = 0
    def update(self, v, n=1): self.sum += v * n; self.n += n
    @property
    def avg(self): return self.sum / max(1, self.n)


torch.manual_seed(0)
ds = TensorDataset(torch.randn(300, 6), torch.randint(0, 3, (300,)))
tr = DataLoader(ds, 32, sampler=SubsetRandomSampler(range(240))); va = DataLoader(ds, 32, sampler=SubsetRandomSampler(range(240, 300)))
m = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)); o = torch.optim.AdamW(m.parameters(), 1e-3)
for e in range(5):
    m.train(); tm = AverageMeter()
    for x, y in tr:
        l = nn.functional.cross_entropy(m(x), y); o.zero_grad(); l.backward(); o.step(); tm.update(l.item(), len(x))
    m.eval(); vm = AverageMeter(); correct = 0; seen = 0
    with torch.inference_mode():
        for x, y in va:
            out = m(x); vm.update(nn.functional.cross_entropy(out, y).item(), len(x)); correct += (out.argmax(1) == y).sum().item(); seen += len(y)
    print(tm.avg, vm.avg, correct / seen)
