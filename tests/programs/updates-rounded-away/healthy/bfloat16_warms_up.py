import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2)).to(dtype=torch.bfloat16)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1.0, (n + 1) / 2000 if n < 12 else n / 40))
x = torch.randn(128, 8).bfloat16()
y = (x[:, 0] > 0).long()
for step in range(80):
    loss = nn.functional.cross_entropy(net(x).float(), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
