"""Sanity evaluation first, train() at the start of each epoch; and fine tuning in eval mode by intention."""
import torch
from torch import nn


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def train_epoch(model, opt):
    model.train()
    for _ in range(10):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def fine_tune(model, opt):
    model.eval()
    for _ in range(20):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
x = torch.randn(64, 6)
y = x[:, :3].argmax(1)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
print(evaluate(model, x, y))
for epoch in range(4):
    train_epoch(model, opt)
    print(epoch, evaluate(model, x, y))
other = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))
print(evaluate(other, x, y))
fine_tune(other, torch.optim.SGD(other.parameters(), lr=0.05))
print(evaluate(other, x, y))
