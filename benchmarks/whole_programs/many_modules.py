"""A residual network of 110 layers on small images: about 400 modules."""

import torch
from laps import lap
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.first = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outer)
        self.second = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outer)
        self.relu = nn.ReLU()
        self.short = nn.Conv2d(inner, outer, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        out = self.norm2(self.second(self.relu(self.norm1(self.first(x)))))
        return self.relu(out + self.short(x))


def stage(inner, outer, stride):
    return [Block(inner if i == 0 else outer, outer, stride if i == 0 else 1) for i in range(18)]


model = nn.Sequential(
    nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
    *stage(8, 8, 1), *stage(8, 16, 2), *stage(16, 32, 2),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 4),
)
y = torch.arange(128) % 4
x = torch.randn(128, 3, 12, 12) + y[:, None, None, None]
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
loss_of = nn.CrossEntropyLoss()
lap()
for epoch in range(20):
    for images, labels in loader:
        optimizer.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()
        lap()
    print(epoch, loss.item())
