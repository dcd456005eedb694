import torch
from torch import nn

torch.manual_seed(27)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(nn.Linear(6 * 12 * 12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x):
        x = self.features(x)
        x = x.view(x.size(0), -1)
        return self.classifier(x)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
images = torch.rand(60, 1, 28, 28)
labels = torch.randint(0, 10, (60,))
for i in range(len(images)):
    optimizer.zero_grad()
    out = net(images[i])  # <- missing-batch-dimension
    loss = nn.functional.cross_entropy(out, labels[i])
    loss.backward()
    optimizer.step()
