"""LambdaLR warm-up over a million steps in a run of 150."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
WARMUP = 1_000_000
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / WARMUP))
x = torch.randn(512, 8)
y = x[:, :1]
for i in range(150):
    rows = torch.randint(512, (32,))
    loss = nn.functional.mse_loss(net(x[rows]), y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()  # <- scheduler-misuse
    if i % 30 == 0:
        print(loss.item(), opt.param_groups[0]["lr"])
