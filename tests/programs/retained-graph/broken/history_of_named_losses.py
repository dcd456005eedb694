"""Multi-task with learned uncertainty weights; loss history keeps graphs in a dict of lists."""
from collections import defaultdict
import torch
from torch import nn


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(12, 64), nn.ReLU())
        self.cls, self.reg = nn.Linear(64, 3), nn.Linear(64, 1)
        self.log_var = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        h = self.shared(x)
        return self.cls(h), self.reg(h).squeeze(-1)

    def combine(self, losses):
        return sum(torch.exp(-s) * l + s for s, l in zip(self.log_var, losses))


class History:
    def __init__(self):
        self.values = defaultdict(list)

    def update(self, **kw):
        for name, value in kw.items():
            self.values[name].append(value)  # <- retained-graph

    def mean(self, name, last=20):
        return sum(float(v) for v in self.values[name][-last:]) / last


def run(steps=200):
    torch.manual_seed(0)
    model = MultiTask()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    history = History()
    for step in range(steps):
        x = torch.randn(48, 12)
        yc, yr = x[:, :3].argmax(1), x[:, 3] * 2 - x[:, 4]
        c, r = model(x)
        lc, lr_ = nn.functional.cross_entropy(c, yc), nn.functional.mse_loss(r, yr)
        loss = model.combine((lc, lr_))
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.update(cls=lc, reg=lr_, total=loss)
        if step % 40 == 39:
            print(step, {k: round(history.mean(k), 3) for k in history.values})


run()
