import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train(model, loader, epochs=5, lr=1e-4):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        for xb, yb in loader:
            loss = ((model(xb) - yb) ** 2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


torch.manual_seed(24)
x = torch.randn(1024, 12)
y = x[:, :1] * 2 - x[:, 1:2]
net = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 1))
train(net, DataLoader(TensorDataset(x, y), batch_size=128, shuffle=True))
