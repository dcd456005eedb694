"""The encoder is frozen first; a callback unfreezes it later, and the optimizer never gets to know it."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.encoder(x))


class Callback:
    def on_epoch_start(self, trainer, epoch):
        pass

    def on_epoch_end(self, trainer, epoch):
        pass


class Unfreeze(Callback):
    def __init__(self, at):
        self.at = at

    def on_epoch_start(self, trainer, epoch):
        if epoch == self.at:
            for p in trainer.model.encoder.parameters():
                p.requires_grad = True
            print("encoder unfrozen")


class Printer(Callback):
    def on_epoch_end(self, trainer, epoch):
        print(f"epoch {epoch:2d} loss {trainer.last:.4f}")


class Trainer:
    def __init__(self, model, callbacks, lr=1e-2):
        self.model, self.callbacks = model, callbacks
        for p in model.encoder.parameters():
            p.requires_grad = False
        self.optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=lr)  # <- parameters-not-in-optimizer
        self.criterion = nn.CrossEntropyLoss()

    def fit(self, x, y, epochs):
        for epoch in range(epochs):
            for cb in self.callbacks:
                cb.on_epoch_start(self, epoch)
            for xb, yb in zip(x.split(32), y.split(32)):
                loss = self.criterion(self.model(xb), yb)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.last = loss.item()
            for cb in self.callbacks:
                cb.on_epoch_end(self, epoch)


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(256, 16)
    y = (x[:, 0] * x[:, 1] > 0).long() * 2 + (x[:, 2] > 0).long()
    Trainer(Net(), [Unfreeze(3), Printer()]).fit(x, y, 10)
