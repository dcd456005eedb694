import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(6, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=10)
for epoch in range(10):
    for b in range(30):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
        opt.zero_grad(); loss.backward(); opt.step()
        sched.step()  # <- scheduler-misuse
