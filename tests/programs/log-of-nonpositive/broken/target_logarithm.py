"""Prices are trained in log space, and one article was given away."""
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
features = torch.randn(70, 4)
price = torch.rand(70) * 20 + 1
price[52] = 0.0


def train_one_epoch(model, optimizer, loader):
    for batch in loader:
        x, p = batch
        optimizer.zero_grad()
        error = model(x).squeeze(1) - torch.log(p)  # <- log-of-nonpositive
        (error**2).mean().backward()
        optimizer.step()


model = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adagrad(model.parameters(), lr=1e-2)
loader = DataLoader(TensorDataset(features, price), batch_size=10)
for epoch in range(3):
    train_one_epoch(model, optimizer, loader)
