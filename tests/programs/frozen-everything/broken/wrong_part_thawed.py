import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
        self.classifier = nn.Linear(16, 3)
    def forward(self, x):
        return self.classifier(torch.relu(self.backbone(x)))
torch.manual_seed(0)
model = Net()
for p in model.parameters():
    p.requires_grad = False  # <- frozen-everything
for p in model.backbone[0].parameters():
    p.requires_grad = True
opt = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-2)
for step in range(60):
    x = torch.randn(32, 8)
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    opt.zero_grad(); loss.backward(); opt.step()
