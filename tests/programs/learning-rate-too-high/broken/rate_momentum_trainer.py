import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, args):
        self.model, self.args = model, args
        self.loss_fn = nn.MSELoss()
        self.opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True)  # <- learning-rate-too-high
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, args.epochs)

    def run_epoch(self, loader):
        total = 0.0
        for xb, yb in loader:
            self.opt.zero_grad()
            loss = self.loss_fn(self.model(xb), yb)
            loss.backward()
            self.opt.step()
            total += loss.item() * len(xb)
        self.sched.step()
        return total / len(loader.dataset)

    def fit(self, loader):
        for epoch in range(self.args.epochs):
            print(f"epoch {epoch}: {self.run_epoch(loader):.4g}")


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=0.8)
    p.add_argument("--epochs", type=int, default=20)
    return p.parse_args()


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(200, 6)
    y = torch.stack([x[:, 0] * x[:, 1], x.sum(1)], dim=1)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
    Trainer(model, parse()).fit(DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True))
