import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 2))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def train_epoch(self, loader):
        for x, y in loader:
            self.opt.zero_grad()
            nn.functional.cross_entropy(self.net(x), y).backward()
            self.opt.step()

    @torch.no_grad()
    def validate(self, loader):
        right = 0
        for x, y in loader:
            right += (self.net(x).argmax(1) == y).sum().item()  # <- evaluation-in-train-mode
        return right


torch.manual_seed(0)
x = torch.randn(320, 10)
y = (x[:, 0] > 0).long()
train = DataLoader(TensorDataset(x[:256], y[:256]), batch_size=32, shuffle=True)
val = DataLoader(TensorDataset(x[256:], y[256:]), batch_size=32)
t = Trainer()
for epoch in range(4):
    t.train_epoch(train)
    print(t.validate(val))
