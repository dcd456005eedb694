"""model.eval without parentheses."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.5))
        self.head = nn.Linear(64, 3)

    def forward(self, x):
        return self.head(self.features(x))


def run_epoch(model, loader, opt=None):
    total, hits, n = 0.0, 0, 0
    for x, y in loader:
        out = model(x)
        loss = nn.functional.cross_entropy(out, y)
        if opt is not None:
            opt.zero_grad()
            loss.backward()
            opt.step()
        total += loss.item() * len(y)
        hits += (out.argmax(1) == y).sum().item()
        n += len(y)
    return total / n, hits / n


torch.manual_seed(0)
x = torch.randn(400, 12)
y = x[:, :3].argmax(1)
tr, va = DataLoader(TensorDataset(x[:300], y[:300]), 30, shuffle=True), DataLoader(TensorDataset(x[300:], y[300:]), 25)
model = Classifier()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    model.train()
    train_stats = run_epoch(model, tr, opt)
    model.eval  # <- evaluation-in-train-mode
    with torch.no_grad():
        val_stats = run_epoch(model, va)
    print(epoch, train_stats, val_stats)
