"""Labels are pure noise: a well behaved net ends at the constant answer; Adam at a sane rate."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.AdamW(net.parameters(), lr=1e-2, weight_decay=0.5)
for step in range(300):
    x = torch.randn(64, 4)
    y = 3 + torch.randn(64, 1)
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
