import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
        self.training_step_outputs = []

    def training_step(self, x, y):
        loss = nn.functional.mse_loss(self.body(x), y)
        self.training_step_outputs.append(loss)  # <- retained-graph
        return loss

    def on_train_epoch_end(self):
        print(torch.stack(self.training_step_outputs).mean().item())


class Trainer:
    def fit(self, model, loader, epochs):
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for _ in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                model.training_step(x, y).backward()
                optimizer.step()
            model.on_train_epoch_end()


torch.manual_seed(0)
x = torch.randn(160, 8)
Trainer().fit(
    Model(), DataLoader(TensorDataset(x, x.mean(1, keepdim=True)), batch_size=16, shuffle=True), 5
)
