import torch
from torch import nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, loader, epochs):
        self.model, self.loader, self.epochs = model, loader, epochs
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.scheduler = lr_scheduler.OneCycleLR(self.optimizer, 1e-2, total_steps=20)  # <- scheduler-past-its-end

    def one_epoch(self):
        for x, y in self.loader:
            loss = nn.functional.mse_loss(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()

    def fit(self):
        for _ in range(self.epochs):
            self.one_epoch()


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(60, 3)
    Trainer(nn.Linear(3, 1), DataLoader(TensorDataset(x, x[:, :1]), batch_size=10), epochs=5).fit()
