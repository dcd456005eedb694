import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from .meters import MetricLogger


class Engine:
    def __init__(self, epochs):
        x = torch.randn(512, 10)
        self.data = TensorDataset(x, x[:, :2].sum(1, keepdim=True))
        self.model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
        self.opt = torch.optim.Adam(self.model.parameters(), 1e-2)
        self.epochs = epochs
        self.logger = MetricLogger()

    def run(self):
        for epoch in range(self.epochs):
            for x, y in DataLoader(self.data, 16, shuffle=True):
                loss = nn.functional.mse_loss(self.model(x), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                self.logger.update(loss=loss.item(), mse=loss)
            print(epoch, self.logger)
