"""A pose network whose last layer starts at zero, and a quaternion that is divided by its length."""
import torch
from torch import nn

torch.manual_seed(0)


class PoseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(9, 32), nn.GELU())
        self.rotation = nn.Linear(32, 4)
        nn.init.zeros_(self.rotation.weight)
        nn.init.zeros_(self.rotation.bias)

    def forward(self, x):
        q = self.rotation(self.trunk(x))
        return q / torch.linalg.norm(q, dim=-1, keepdim=True)  # <- division-by-zero


net = PoseNet()
optimizer = torch.optim.Adam(net.parameters())
target = nn.functional.normalize(torch.randn(64, 4), dim=1)
points = torch.randn(64, 9)
for epoch in range(3):
    q = net(points)
    loss = (1 - (q * target).sum(-1) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
