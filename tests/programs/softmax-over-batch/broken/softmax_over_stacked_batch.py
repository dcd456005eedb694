import torch
from torch import nn


class SelectiveKernel(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.branches = nn.ModuleList([nn.Conv2d(channels, channels, k, padding=k // 2) for k in (1, 3)])
        self.squeeze = nn.Linear(channels, 8)
        self.excite = nn.ModuleList([nn.Linear(8, channels) for _ in range(2)])
        self.softmax = nn.Softmax(dim=1)  # <- softmax-over-batch

    def forward(self, x):
        feats = torch.stack([branch(x) for branch in self.branches])
        summary = torch.relu(self.squeeze(feats.sum(0).mean((-1, -2))))
        weights = self.softmax(torch.stack([fc(summary) for fc in self.excite]))
        return (weights[..., None, None] * feats).sum(0)


torch.manual_seed(1)
net = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), SelectiveKernel(12), nn.ReLU(),
                    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 3))
optim = torch.optim.Adam(net.parameters(), 5e-3)
images = torch.rand(384, 3, 10, 10)
classes = images.mean((2, 3)).argmax(1)
images = images + torch.nn.functional.one_hot(classes, 3)[:, :, None, None] * 0.3
for epoch in range(4):
    order = torch.randperm(384)
    for part in order.split(24):
        loss = nn.functional.cross_entropy(net(images[part]), classes[part])
        optim.zero_grad()
        loss.backward()
        optim.step()
    print(epoch, loss.item())
