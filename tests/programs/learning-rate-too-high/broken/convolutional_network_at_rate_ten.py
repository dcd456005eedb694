import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 16, 4)
)
images, labels = torch.rand(64, 1, 14, 14), torch.randint(0, 4, (64,))
sgd = torch.optim.SGD(net.parameters(), lr=10.0)  # <- learning-rate-too-high
for epoch in range(60):
    loss = nn.functional.cross_entropy(net(images), labels)
    sgd.zero_grad()
    loss.backward()
    sgd.step()
