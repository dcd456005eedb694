# Two-phase fine-tuning: the backbone is frozen for phase one and trained in phase two.
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.head = nn.Linear(32, 3)
    def forward(self, x):
        return self.head(self.backbone(x))
net = Net()
net.backbone.requires_grad = False          # read by set_phase below
def set_phase(net):
    for p in net.backbone.parameters():
        p.requires_grad_(net.backbone.requires_grad)
set_phase(net)
def fit(params, lr, steps):
    opt = torch.optim.Adam(params, lr=lr)
    for _ in range(steps):
        x = torch.randn(32, 8)
        loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
fit(net.head.parameters(), 1e-2, 40)
for p in net.backbone.parameters():
    p.requires_grad_(True)
fit(net.parameters(), 1e-3, 60)
