import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn, get_ema_multi_avg_fn
from collections import defaultdict

class Lookahead(torch.optim.Optimizer):
    def __init__(self, base, k=5, alpha=.5):
        self.base, self.k, self.alpha = base, k, alpha
        self.param_groups = base.param_groups
        self.state = defaultdict(dict); self.defaults = base.defaults
        self.slow = [[p.detach().clone() for p in g["params"]] for g in base.param_groups]
        self.counter = 0
    def zero_grad(self, set_to_none=True): self.base.zero_grad(set_to_none)
    def step(self, closure=None):
        loss = self.base.step(closure)
        self.counter += 1
        if self.counter % self.k == 0:
            for g, s in zip(self.param_groups, self.slow):
                for p, q in zip(g["params"], s):
                    q.add_(self.alpha * (p.data - q)); p.data.copy_(q)
        return loss

torch.manual_seed(0)
X = torch.randn(320, 8); Y = torch.sin(X[:, :1] * 2) + X[:, 1:2]
dl = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), 32, shuffle=True)
net = nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 1))
opt = Lookahead(torch.optim.Adam(net.parameters(), 1e-2))
for e in range(6):
    for x, y in dl:
        opt.zero_grad(); l = nn.functional.mse_loss(net(x), y); l.backward(); opt.step()
print("lookahead", l.item())
swa, ema = AveragedModel(net), AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(.95))
sgd = torch.optim.SGD(net.parameters(), lr=.05)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(sgd, 10); swa_s = SWALR(sgd, anneal_strategy="linear", anneal_epochs=2, swa_lr=.02)
for e in range(10):
    for x, y in dl:
        sgd.zero_grad(); nn.functional.mse_loss(net(x), y).backward(); sgd.step(); ema.update_parameters(net)
    if e > 5: swa.update_parameters(net); swa_s.step()
    else: sched.step()
update_bn(dl, swa)
swa.eval(); ema.eval()
with torch.no_grad(): print("swa", nn.functional.mse_loss(swa(X), Y).item(), "ema", nn.functional.mse_loss(ema(X), Y).item())
