import torch
from torch import nn


class Trainer:
    def __init__(self, model, lr=1e-2):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss_fn = nn.MSELoss()

    def training_step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.loss_fn(self.model(x), y)
        loss.backward()  # <- missing-optimizer-step
        return loss.item()


torch.manual_seed(0)
t = Trainer(nn.Linear(4, 1))
for _ in range(50):
    x = torch.randn(16, 4)
    t.training_step(x, x.sum(1, keepdim=True))
