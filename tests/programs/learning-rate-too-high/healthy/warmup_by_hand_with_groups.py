"""Hand-made warm-up and decay through param_groups; groups with their own decay; frozen group at rate 0."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 3))
decay = [p for p in net.parameters() if p.ndim > 1]
rest = [p for p in net.parameters() if p.ndim == 1]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0, "lr": 0.0}], lr=1e-2)
for step in range(150):
    for g in opt.param_groups[:1]:
        g["lr"] = 1e-2 * min(1.0, (step + 1) / 20) * (1 - step / 150)
    x = torch.randn(32, 8)
    loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
