import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, given, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(given, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.short = nn.Sequential() if stride == 1 and given == width else nn.Conv2d(given, width, 1, stride, bias=False)

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.short(x))


class ResNet(nn.Module):
    def __init__(self, depth=18):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        layers, given = [], 8
        for width, stride in ((8, 1), (16, 2), (32, 2)):
            for number in range(depth):
                layers.append(Block(given, width, stride if number == 0 else 1))
                given = width
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(given, 4)

    def forward(self, x):
        return self.head(self.layers(self.stem(x)).mean((2, 3)))


images = torch.randn(64, 3, 12, 12)
labels = torch.arange(64) % 4
images += labels.view(-1, 1, 1, 1) * 0.5
model = ResNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
for epoch in range(3):
    for rows in torch.randperm(64).split(16):
        loss = F.cross_entropy(model(images[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
