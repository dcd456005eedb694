"""Parameters read by item() inside forward only to be logged, used as tensors besides; a detached copy in forward."""
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.fc = nn.Linear(6, 3)
        self.log = []

    def forward(self, x):
        self.log.append(self.scale.item())
        kept = self.scale.detach()
        return self.fc(x) * self.scale + 0 * kept


torch.manual_seed(0)
net = Scaled()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(60):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), net.log[-1])
