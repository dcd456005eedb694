"""The weights, and not the biases, get a weight decay of 5: they shrink away."""
import torch
from torch import nn


class Tab(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))

    def forward(self, x):
        return self.net(x)


def groups(model, wd):
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    return [{"params": decay, "weight_decay": wd}, {"params": rest, "weight_decay": 0.0}]


def main():
    torch.manual_seed(0)
    model = Tab()
    opt = torch.optim.SGD(groups(model, 5.0), lr=0.05)  # <- weight-decay-too-strong
    x = torch.randn(400, 10)
    y = x[:, :3].argmax(1)
    for epoch in range(10):
        for i in range(0, 400, 40):
            loss = nn.functional.cross_entropy(model(x[i : i + 40]), y[i : i + 40])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


main()
