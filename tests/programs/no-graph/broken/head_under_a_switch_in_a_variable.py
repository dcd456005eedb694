import contextlib

import torch
from torch import nn

torch.manual_seed(0)


class Backbone(nn.Sequential):
    def __init__(self, n_in=8, dim=16):
        super().__init__(nn.Linear(n_in, dim), nn.ReLU(), nn.Linear(dim, dim))


class Detector(nn.Module):
    def __init__(self, train_backbone):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Linear(16, 1)
        self.train_backbone = train_backbone

    def forward(self, x):
        ctx = contextlib.nullcontext() if self.train_backbone else torch.no_grad()
        with ctx:  # <- no-graph
            f = self.backbone(x)
            out = self.head(f)
        return out.squeeze(-1)


def data(n):
    x = torch.randn(n, 8)
    return x, (x[:, 0] - x[:, 1])


def main(train_backbone=False):
    model = Detector(train_backbone)
    params = [p for p in model.parameters()] if train_backbone else list(model.head.parameters())
    opt = torch.optim.SGD(params, lr=0.05)
    for step in range(60):
        x, y = data(64)
        pred = model(x)
        loss = ((pred - y) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(step, loss.item())


main()
