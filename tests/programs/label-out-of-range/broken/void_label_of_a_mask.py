"""Segmentation with classes 0..4 and 255 as 'void', ignore_index forgotten."""
import torch
import torch.nn as nn


def make(n):
    img = torch.randn(n, 3, 12, 12)
    lab = img[:, :3].argmax(1)
    lab[:, 0, :] = 255
    return img, lab


class FCN(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, k, 1))

    def forward(self, x):
        return self.body(x)


class Trainer:
    def __init__(self, model, **kw):
        self.model = model
        self.loss = nn.CrossEntropyLoss()
        self.opt = torch.optim.Adam(model.parameters(), **kw)

    def run(self, n):
        for i in range(n):
            x, y = make(8)
            out = self.model(x)
            loss = self.loss(out, y)  # <- label-out-of-range
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()


torch.manual_seed(0)
Trainer(FCN(5), lr=1e-2).run(20)
