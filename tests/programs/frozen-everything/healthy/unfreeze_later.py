import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 32), nn.ReLU()); self.head = nn.Linear(32, 3)
    def forward(self, x): return self.head(self.backbone(x))
model = Net()
def train(opt, steps):
    for step in range(steps):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
        opt.zero_grad(); loss.backward(); opt.step()
for p in model.backbone.parameters(): p.requires_grad = False
train(torch.optim.Adam(model.head.parameters(), lr=1e-2), 20)
for p in model.backbone.parameters(): p.requires_grad = True
train(torch.optim.Adam(model.parameters(), lr=1e-3), 20)
