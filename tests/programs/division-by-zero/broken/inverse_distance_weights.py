import torch
from torch import nn


class Interpolate(nn.Module):
    """Inverse distance weighting between learned anchors."""

    def __init__(self, anchors, width):
        super().__init__()
        self.anchors = nn.Parameter(torch.linspace(-1, 1, anchors)[:, None])
        self.values = nn.Parameter(torch.zeros(anchors, width))

    def forward(self, x):
        weight = (x[:, None, :] - self.anchors).abs().squeeze(-1) ** -1  # <- division-by-zero
        return (weight / weight.sum(1, keepdim=True)) @ self.values


torch.manual_seed(0)
net = Interpolate(5, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for step in range(6):
    x = torch.rand(10, 1) * 2 - 1
    if step == 4:
        x[7] = net.anchors.detach()[1]
    loss = (net(x) - torch.cat([x, x**2], 1)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
