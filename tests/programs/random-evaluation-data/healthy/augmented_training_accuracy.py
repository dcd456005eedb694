import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Augmented(Dataset):
    def __init__(self, x, y, augment):
        self.x, self.y, self.augment = x, y, augment

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i] + 0.1 * torch.randn(6) if self.augment else self.x[i]
        return x, self.y[i]


torch.manual_seed(0)
x = torch.randn(120, 6)
y = (x[:, 0] > 0).long()
train_loader = DataLoader(Augmented(x[:90], y[:90], augment=True), batch_size=15)
val_loader = DataLoader(Augmented(x[90:], y[90:], augment=False), batch_size=15)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for data, label in train_loader:
        loss = nn.functional.cross_entropy(model(data), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        for loader in (train_loader, val_loader):
            print(sum((model(a).argmax(1) == b).sum().item() for a, b in loader))
