"""Tiny image classifier; validation leaves the network in the wrong mode through train(False)."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class ConvNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        )
        self.drop = nn.Dropout(0.25)
        self.out = nn.Linear(64, classes)

    def forward(self, x):
        return self.out(self.drop(self.features(x).flatten(1)))


def blobs(n=320):
    x = 0.4 * torch.randn(n, 1, 8, 8)
    y = torch.randint(0, 4, (n,))
    for i, c in enumerate(y):
        r, col = divmod(int(c), 2)
        x[i, 0, r * 4 : r * 4 + 4, col * 4 : col * 4 + 4] += 1.0
    return TensorDataset(x, y)


@torch.no_grad()
def accuracy(model, loader):
    model.train(False)  # <- training-in-eval-mode
    hits = total = 0
    for x, y in loader:
        hits += (model(x).argmax(1) == y).sum().item()
        total += len(y)
    return hits / total


def fit(model, train_loader, val_loader, epochs=6):
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    best = 0.0
    for epoch in range(epochs):
        for x, y in train_loader:
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()
        acc = accuracy(model, val_loader)
        best = max(best, acc)
        print(f"{epoch} loss {loss.item():.3f} acc {acc:.3f} best {best:.3f}")


torch.manual_seed(0)
train_set, val_set = random_split(blobs(), [256, 64])
fit(ConvNet(), DataLoader(train_set, 32, shuffle=True), DataLoader(val_set, 64))
