import torch
from torch import nn


class Runner:
    def __init__(self):
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(8, 32), nn.Dropout(0.4), nn.ReLU(), nn.Linear(32, 2)); self.opt = torch.optim.Adam(self.net.parameters(), 1e-3)

    def epoch(self, loader, train=True):
        self.net.train() if not train else self.net.eval()  # <- training-in-eval-mode
        for x, y in loader:
            with torch.set_grad_enabled(train):
                l = nn.functional.cross_entropy(self.net(x), y)
            if train:
                self.opt.zero_grad(); l.backward(); self.opt.step()


x = torch.randn(200, 8); y = (x[:, 0] > 0).long()
tr = list(zip(x[:160].split(16), y[:160].split(16))); va = list(zip(x[160:].split(16), y[160:].split(16)))
r = Runner()
for e in range(5): r.epoch(tr); r.epoch(va, train=False)
