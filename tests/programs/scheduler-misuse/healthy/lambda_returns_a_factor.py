import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

torch.manual_seed(0)
X = torch.randn(400, 10)
Y = X[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 3))
base_lr = 1e-3
opt = torch.optim.Adam(net.parameters(), lr=base_lr)


def rate(step, warmup=10):
    return min(1.0, (step + 1) / warmup)


sched = LambdaLR(opt, rate)
for epoch in range(12):
    for i in torch.randperm(400).split(40):
        loss = nn.functional.cross_entropy(net(X[i]), Y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
    print(epoch, loss.item())
