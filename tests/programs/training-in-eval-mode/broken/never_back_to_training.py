import torch
from torch import nn


def evaluate(model, x, y):
    model.eval()  # <- training-in-eval-mode
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def train(model, opt, steps):
    model.train()
    for step in range(steps):
        x = torch.randn(32, 10)
        y = x[:, :3].argmax(1)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 9:
            evaluate(model, x, y)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 3))
train(model, torch.optim.Adam(model.parameters(), lr=1e-3), 60)
