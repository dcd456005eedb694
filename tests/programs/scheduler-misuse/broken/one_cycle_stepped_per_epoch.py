"""OneCycleLR with steps_per_epoch, stepped once per epoch: it never leaves its warm-up."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(640, 8)
loader = DataLoader(TensorDataset(x, x[:, :1] * x[:, 1:2]), batch_size=32, shuffle=True)
EPOCHS = 8
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters())
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, steps_per_epoch=len(loader), epochs=EPOCHS)
for epoch in range(EPOCHS):
    for a, b in loader:
        loss = nn.functional.mse_loss(net(a), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()  # <- scheduler-misuse
    print(epoch, loss.item(), sched.get_last_lr())
