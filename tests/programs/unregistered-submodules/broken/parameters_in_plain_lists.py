"""Mixture of low-rank adapters held in a plain Python list of nn.Parameter."""
import torch
from torch import nn


class Adapter(nn.Module):
    def __init__(self, dim, rank, count):
        super().__init__()
        self.base = nn.Linear(dim, dim)
        self.base.requires_grad_(False)
        self.down = [nn.Parameter(torch.randn(dim, rank) * 0.1) for _ in range(count)]  # <- unregistered-submodules
        self.up = [nn.Parameter(torch.zeros(rank, dim)) for _ in range(count)]
        self.gate = nn.Linear(dim, count)

    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        out = self.base(x)
        for k, (a, b) in enumerate(zip(self.down, self.up)):
            out = out + weights[:, k : k + 1] * (x @ a @ b)
        return out


class Model(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.adapter = Adapter(dim, 4, 3)
        self.out = nn.Linear(dim, 2)

    def forward(self, x):
        return self.out(torch.tanh(self.adapter(x)))


def batches(steps, dim=16):
    for _ in range(steps):
        x = torch.randn(48, dim)
        yield x, (x[:, 0] * x[:, 1] > 0).long()


def main():
    torch.manual_seed(0)
    model = Model()
    trainable = [p for p in model.parameters() if p.requires_grad]
    print("trainable parameters:", sum(p.numel() for p in trainable))
    opt = torch.optim.Adam(trainable, lr=3e-3)
    for step, (x, y) in enumerate(batches(100)):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(step, loss.item())


main()
