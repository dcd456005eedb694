"""A plain convolutional classifier with augmentation on the fly and a test pass after each epoch."""

import torch
from laps import lap
from torch import nn

torch.manual_seed(0)
y = torch.arange(960) % 10
x = torch.randn(960, 1, 16, 16) * 0.5 + y[:, None, None, None] / 5
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True)
lap()
for epoch in range(64):
    model.train()
    for rows in torch.randperm(800).split(32):
        images = x[rows]
        if torch.rand(()) < 0.5:
            images = images.flip(3)
        loss = nn.functional.cross_entropy(model(images + 0.05 * torch.randn_like(images)), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lap()
    model.eval()
    with torch.no_grad():
        print(epoch, loss.item(), (model(x[800:]).argmax(1) == y[800:]).float().mean().item())
