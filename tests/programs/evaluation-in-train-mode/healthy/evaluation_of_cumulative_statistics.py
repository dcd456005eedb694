import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4, momentum=None), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
opt = torch.optim.AdamW(net.parameters(), 1e-2)
for epoch in range(4):
    net.train()
    for _ in range(5):
        x = torch.randn(8, 1, 8, 8)
        y = (x.mean((1, 2, 3)) > 0).long()
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
    net.eval()
    with torch.no_grad():
        v = torch.randn(16, 1, 8, 8)
        val_loss = nn.functional.cross_entropy(net(v), (v.mean((1, 2, 3)) > 0).long())
    print(epoch, f"{val_loss:.3f}", float(val_loss))
