import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


def twice(given, width):
    return nn.Sequential(
        nn.Conv2d(given, width, 3, padding=1), nn.GroupNorm(2, width), nn.SiLU(),
        nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(2, width), nn.SiLU(),
    )


class Stage(nn.Module):
    def __init__(self, given, width, blocks):
        super().__init__()
        self.first = twice(given, width)
        self.rest = nn.ModuleList(twice(width, width) for _ in range(blocks - 1))

    def forward(self, x):
        x = self.first(x)
        for block in self.rest:
            x = x + block(x)
        return x


class UNet(nn.Module):
    def __init__(self, widths=(8, 12, 16), blocks=6):
        super().__init__()
        self.down = nn.ModuleList(Stage(g, w, blocks) for g, w in zip((1, *widths), widths))
        self.up = nn.ModuleList(Stage(a + b, b, blocks) for a, b in zip(widths[:0:-1], widths[-2::-1]))
        self.out = nn.Conv2d(widths[0], 1, 1)

    def forward(self, x):
        kept = []
        for stage in self.down:
            x = stage(x)
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = kept.pop()
        for stage in self.up:
            x = stage(torch.cat([F.interpolate(x, scale_factor=2), kept.pop()], 1))
        return self.out(x)


model = UNet()
images = torch.randn(32, 1, 16, 16)
masks = (F.avg_pool2d(images, 3, 1, 1) > 0).float()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(5):
    for rows in torch.randperm(32).split(8):
        loss = F.binary_cross_entropy_with_logits(model(images[rows]), masks[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
