import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def network():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.LeakyReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.LeakyReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 1),
    )


def fit(net, loader, make_optimizer, epochs):
    optimizer = make_optimizer(net.parameters())
    for _ in range(epochs):
        for image, target in loader:
            optimizer.zero_grad()
            ((net(image) - target) ** 2).mean().backward()
            optimizer.step()


torch.manual_seed(0)
images = torch.rand(64, 1, 8, 8) * 4
loader = DataLoader(TensorDataset(images, images.mean((1, 2, 3))[:, None] * 10), batch_size=16, shuffle=True)
fit(network(), loader, lambda p: torch.optim.SGD(p, lr=1.0, momentum=0.5), epochs=6)  # <- learning-rate-too-high
