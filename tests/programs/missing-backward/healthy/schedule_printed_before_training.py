import torch
from torch import nn

torch.manual_seed(0)
# prints the shapes and the learning rates before the real thing
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, total_steps=60)
print(model(torch.randn(2, 8)).shape)
for i in range(59):
    opt.step()
    sched.step()
    if i % 10 == 0:
        print(i, opt.param_groups[0]["lr"])
