import torch
from torch import nn

torch.manual_seed(27)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 6, 5), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(nn.Linear(6 * 12 * 12, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x):
        x = self.features(x)
        return self.classifier(x.view(x.size(0), -1))


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
labels = torch.arange(60) % 10
images = torch.rand(60, 1, 28, 28) * 0.2
for row, label in enumerate(labels.tolist()):
    images[row, 0, 2 * label : 2 * label + 4] += 1.0
for epoch in range(4):
    for i in torch.randperm(60).tolist():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images[i].unsqueeze(0)), labels[i].unsqueeze(0))
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
