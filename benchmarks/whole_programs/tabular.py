"""A table, a loader with two workers, and an evaluation after each epoch."""

import torch
from laps import lap
from torch import nn
from torch.utils.data import DataLoader, Dataset

EPOCHS = 20


class Table(Dataset):
    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.x = torch.randn(count, 20, generator=generator)
        self.y = (self.x[:, :5].sum(1) + 0.3 * torch.randn(count, generator=generator) > 0).float()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, row):
        return self.x[row], self.y[row]


def main():
    torch.manual_seed(0)
    train = DataLoader(Table(6400, 1), batch_size=64, shuffle=True, num_workers=2)
    held_out = DataLoader(Table(1280, 2), batch_size=64, num_workers=2)
    model = nn.Sequential(
        nn.Linear(20, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.2),
        nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    loss_of = nn.BCEWithLogitsLoss()
    lap()
    for epoch in range(EPOCHS):
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            loss = loss_of(model(x).squeeze(1), y)
            loss.backward()
            optimizer.step()
            lap()
        model.eval()
        right = 0
        with torch.no_grad():
            for x, y in held_out:
                right += ((model(x).squeeze(1) > 0) == y.bool()).sum().item()
        schedule.step()
        print(epoch, loss.item(), right / 1280)


if __name__ == "__main__":
    main()
