import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(640, 12); y = (x[:, :5] ** 2).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 5))
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.3, total_steps=10 * len(loader))
for epoch in range(10):
    net.train()
    for xb, yb in loader:
        opt.zero_grad()
        nn.functional.cross_entropy(net(xb), yb).backward()
        opt.step(); sched.step()
    net.eval()
    with torch.no_grad():
        print(epoch, (net(x).argmax(1) == y).float().mean().item())
