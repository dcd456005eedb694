"""Continual learning: each task gets a head of its own and an optimizer of its own; finished heads stay as they are."""
import torch
from torch import nn


class Continual(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.heads = nn.ModuleDict()

    def forward(self, x, task):
        return self.heads[task](self.body(x))


def learn(model, task, column, steps=50):
    model.heads[task] = nn.Linear(32, 2)
    opt = torch.optim.Adam([*model.body.parameters(), *model.heads[task].parameters()], lr=5e-3)
    for _ in range(steps):
        x = torch.randn(48, 8)
        loss = nn.functional.cross_entropy(model(x, task), (x[:, column] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(task, loss.item())


torch.manual_seed(0)
model = Continual()
for i, name in enumerate(["left", "right", "up"]):
    learn(model, name, i)
