import torch
from torch import nn
class Fusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.img = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.tab = nn.Sequential(nn.Linear(5, 12), nn.ReLU())
        self.out = nn.Linear(20, 2)
    def forward(self, image, table):
        a = self.img(image)
        b = self.tab(table)
        return self.out(torch.cat((a, b), dim=1))  # <- broadcast-mismatch
net = Fusion()
opt = torch.optim.Adam(net.parameters())
for _ in range(4):
    l = nn.functional.cross_entropy(net(torch.rand(6, 3, 20, 20), torch.rand(6, 5)), torch.randint(0, 2, (6,)))
    opt.zero_grad(); l.backward(); opt.step()
