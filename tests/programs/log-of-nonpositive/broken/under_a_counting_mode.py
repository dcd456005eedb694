import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
with Counting() as counting:
    for step in range(12):
        out = net(torch.randn(8, 4))
        loss = (out.log() if step == 8 else out).square().mean()  # <- log-of-nonpositive
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(counting.count)
