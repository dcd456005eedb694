import torch
import torch.nn as nn

torch.manual_seed(0)
inputs = torch.randn(256, 3, 8, 8)
labels = (inputs.mean((2, 3)).argmax(1))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.backbone(x))


net = Net()
loss_fn = nn.CrossEntropyLoss()

# stage 1: only the head
for p in net.backbone.parameters():
    p.requires_grad = False
opt = torch.optim.Adam(net.head.parameters(), lr=1e-2)
for step in range(40):
    idx = torch.randint(0, 256, (32,))
    opt.zero_grad()
    loss_fn(net(inputs[idx]), labels[idx]).backward()
    opt.step()

# stage 2: everything, slowly
opt = torch.optim.Adam(net.parameters(), lr=1e-3)  # <- frozen-everything
for step in range(60):
    idx = torch.randint(0, 256, (32,))
    opt.zero_grad()
    loss = loss_fn(net(inputs[idx]), labels[idx])
    loss.backward()
    opt.step()
print(loss.item())
