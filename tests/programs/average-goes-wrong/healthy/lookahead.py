import copy
import torch
from torch import nn

torch.manual_seed(0)
fast = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
slow = copy.deepcopy(fast)
opt = torch.optim.Adam(fast.parameters(), lr=1e-2)
for step in range(1, 81):
    x = torch.randn(64, 6)
    loss = nn.functional.mse_loss(fast(x), x[:, :1] * x[:, 1:2])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 4 == 0:
        with torch.no_grad():
            for s, f in zip(slow.parameters(), fast.parameters()):
                s.add_(f - s, alpha=0.5)
                f.copy_(s)
        print(nn.functional.mse_loss(slow(x), x[:, :1] * x[:, 1:2]).item())
