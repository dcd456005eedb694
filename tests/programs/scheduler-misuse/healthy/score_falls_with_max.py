# Fine-tuning a strong start on a few noisy rows: validation F1 (mode max) declines, the rate is cut.
import torch
from torch import nn
torch.manual_seed(0)
w = torch.randn(20, 1)
x, xv = torch.randn(40, 20), torch.randn(400, 20)
y = (torch.rand(40, 1) < 0.5).float()
yv = ((xv @ w) > 0).float()
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1))
pre = torch.optim.Adam(model.parameters(), 5e-3)
for _ in range(200):
    a = torch.randn(64, 20)
    l = nn.functional.binary_cross_entropy_with_logits(model(a), ((a @ w) > 0).float())
    pre.zero_grad()
    l.backward()
    pre.step()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", factor=0.8, patience=1)
for epoch in range(14):
    for rows in torch.randperm(40).split(10):
        loss = nn.functional.binary_cross_entropy_with_logits(model(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        p = model(xv).sigmoid()
        tp = (p * yv).sum()
        f1 = (2 * tp / (p.sum() + yv.sum())).item()          # soft F1
    sched.step(f1)
    print(epoch, loss.item(), f1)
