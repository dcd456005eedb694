# adversarial/penalty term with a floor joins after the warm-up epochs
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), 5e-3)
for epoch in range(20):
    beta = 5.0 if epoch >= 10 else 0.0
    for _ in range(15):
        x = torch.randn(64, 6)
        y = x[:, :3].argmax(1)
        lo = net(x)
        ce = nn.functional.cross_entropy(lo, y)
        p = lo.softmax(1)
        conf = (p * p.clamp_min(1e-8).log()).sum(1).mean() + 1.0986
        loss = ce + beta * conf
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 3 == 0:
        print(epoch, loss.item(), ce.item())
