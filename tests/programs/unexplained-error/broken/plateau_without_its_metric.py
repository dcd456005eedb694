import torch
from torch import nn
net = nn.Linear(5, 1)
opt = torch.optim.SGD(net.parameters(), .05)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=2)
for epoch in range(6):
    for _ in range(5):
        x = torch.randn(16, 5)
        loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
    sched.step()  # <- unexplained-error
