import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 20), nn.ReLU())
        self.head = nn.Linear(20, 3)

    def forward(self, x):
        return self.head(self.backbone(x))


torch.manual_seed(0)
net = Net()
for p in net.parameters():
    p.requires_grad = False  # <- no-graph
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(5):
    x = torch.randn(8, 10)
    loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
