import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Trainer:
    def __init__(self, model, train_loader, val_loader, batch_size):
        self.model, self.train_loader, self.val_loader, self.batch_size = model, train_loader, val_loader, batch_size
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-2)

    def fit(self, epochs):
        for _ in range(epochs):
            self.model.train()
            for x, y in self.train_loader:
                self.opt.zero_grad()
                nn.functional.cross_entropy(self.model(x), y).backward()
                self.opt.step()
            print(self.validate())

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        hits = 0
        for i, (x, y) in enumerate(self.val_loader):
            pred = self.model(x).argmax(-1)
            hits += pred.eq(y).sum().item()
        return hits / (len(self.val_loader) * self.batch_size)  # <- wrong-metric-reduction


torch.manual_seed(0)
x = torch.randn(500, 6); y = (x[:, 0] > 0).long()
a, b = random_split(TensorDataset(x, y), [390, 110])
Trainer(nn.Linear(6, 2), DataLoader(a, 64, shuffle=True), DataLoader(b, 64), 64).fit(4)
