import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Tags(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randint(1, 30, (n, 7), generator=g)
        self.y = self.x % 5
        if seed == 2:
            self.y[8:16] = -100

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"tokens": self.x[i], "tags": self.y[i]}


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(30, 16)
        self.o = nn.Linear(16, 5)

    def forward(self, t):
        return self.o(self.e(t))


def run_epoch(model, loader, loss_fn, optimizer=None):
    training = optimizer is not None
    model.train(training)
    total, n = 0.0, 0
    with torch.set_grad_enabled(training):
        for batch in loader:
            logits = model(batch["tokens"])
            loss = loss_fn(logits.flatten(0, 1), batch["tags"].flatten())  # <- empty-reduction
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(batch["tags"])
            n += len(batch["tags"])
    return total / n


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", default=3, type=int)
    a = p.parse_args()
    torch.manual_seed(0)
    model = Tagger()
    opt = torch.optim.Adam(model.parameters(), 1e-2)
    fn = nn.CrossEntropyLoss()
    train, val = DataLoader(Tags(64, 1), 16, shuffle=True), DataLoader(Tags(32, 2), 8)
    for e in range(a.epochs):
        t = run_epoch(model, train, fn, opt)
        v = run_epoch(model, val, fn)
        print(f"{e}: train {t:.3f} valid {v:.3f}")


main()
