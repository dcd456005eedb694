import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class FeatureTap:
    """Collects the penultimate activations for a later t-SNE."""

    def __init__(self, module):
        self.features = []
        self.handle = module.register_forward_hook(self.hook)

    def hook(self, module, args, output):
        self.features.append(output.detach())  # <- growing-collection

    def latest(self):
        return self.features[-1]


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        return self.fc(self.conv(x).mean((2, 3)))


def bars(n):
    y = torch.randint(0, 3, (n,))
    x = 0.1 * torch.randn(n, 1, 16, 16)
    for k in range(n):
        x[k, 0, (int(y[k]) * 5) :: 15] += 1
        x[k, 0, :, ::(int(y[k]) + 2)] += 0.5
    return TensorDataset(x, y)


net = CNN()
tap = FeatureTap(net.conv)
opt = torch.optim.Adam(net.parameters(), 5e-3)
loader = DataLoader(bars(320), 16, shuffle=True)
for epoch in range(5):
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item(), tap.latest().norm().item())
