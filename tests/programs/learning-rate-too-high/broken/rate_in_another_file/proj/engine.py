import torch
from torch import nn

from proj import config


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=config.LEARNING_RATE)  # <- learning-rate-too-high
    x = torch.randn(64, 6)
    y = x.sum(1, keepdim=True)
    for _ in range(config.STEPS):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
