"""A hypernetwork makes the weights of a small regressor from a task code."""
import torch
from torch import nn
import torch.nn.functional as F


class HyperNetwork(nn.Module):
    def __init__(self, code, inputs, hidden):
        super().__init__()
        self.shapes = [(hidden, inputs), (hidden,), (1, hidden), (1,)]
        total = sum(torch.Size(s).numel() for s in self.shapes)
        self.embed = nn.Embedding(3, code)
        self.generate = nn.Sequential(nn.Linear(code, 64), nn.ReLU(), nn.Linear(64, total))

    def forward(self, task):
        flat = self.generate(self.embed(task))
        weights, at = [], 0
        for shape in self.shapes:
            n = torch.Size(shape).numel()
            weights.append(nn.Parameter(flat[at:at + n].view(shape)))  # <- detached-graph
            at += n
        return weights


def primary(x, weights):
    w1, b1, w2, b2 = weights
    return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2).squeeze(-1)


TASKS = [lambda x: x[:, 0].sin(), lambda x: x[:, 1] ** 2 / 2, lambda x: x.sum(1) / 3]


def main():
    torch.manual_seed(0)
    hyper = HyperNetwork(8, 2, 16)
    opt = torch.optim.Adam(hyper.parameters(), lr=3e-3)
    for it in range(150):
        losses = []
        for task, f in enumerate(TASKS):
            x = torch.randn(32, 2)
            losses.append(F.mse_loss(primary(x, hyper(torch.tensor(task))), f(x)))
        loss = torch.stack(losses).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 25 == 0:
            print(f"{it:4d} {loss.item():.4f}")


main()
