from collections import defaultdict
import torch
from torch import nn


class Callback:
    def __init__(self): self.metrics = defaultdict(list)
    def on_step(self, **kw):
        for k, v in kw.items():
            self.metrics[k].append(v)  # <- retained-graph


class Trainer:
    def __init__(self, model, callbacks): self.model, self.callbacks = model, callbacks; self.opt = torch.optim.SGD(model.parameters(), 0.01)

    def run(self, n):
        for _ in range(n):
            x = torch.randn(16, 32); out = self.model(x); loss = (out - x).pow(2).mean()
            self.opt.zero_grad(); loss.backward(); self.opt.step()
            for c in self.callbacks: c.on_step(loss=loss, scale=out.abs().mean())


torch.manual_seed(0)
Trainer(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32)), [Callback()]).run(300)
