"""Progressive classifier: after the warm-up epochs the coarse head is exchanged for the fine one."""
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    coarse_epochs: int = 4
    fine_epochs: int = 8
    lr: float = 3e-3
    batch_size: int = 64
    width: int = 48


class Backbone(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(12, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())

    def forward(self, x):
        return self.stem(x)


class Classifier(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.backbone = Backbone(config.width)
        self.head = nn.Linear(config.width, 2)

    def grow(self, classes):
        self.head = nn.Linear(self.head.in_features, classes)  # <- stale-optimizer-parameters
        return self.head

    def forward(self, x):
        return self.head(self.backbone(x))


def make_data(n=640):
    x = torch.randn(n, 12)
    fine = (x[:, :6] * 2).argmax(1)
    return x, fine


def run_epochs(model, optimizer, loader, epochs, tag):
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        print(f"{tag} epoch {epoch}: {total / len(loader.dataset):.4f}")


def main():
    torch.manual_seed(1)
    config = Config()
    x, fine = make_data()
    model = Classifier(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr)
    coarse = DataLoader(TensorDataset(x, (fine > 2).long()), batch_size=config.batch_size, shuffle=True)
    run_epochs(model, optimizer, coarse, config.coarse_epochs, "coarse")
    head = model.grow(6)
    loader = DataLoader(TensorDataset(x, fine), batch_size=config.batch_size, shuffle=True)
    run_epochs(model, optimizer, loader, config.fine_epochs, "fine")


if __name__ == "__main__":
    main()
