import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), 1e-2)
for ep in range(30):
    logs = []
    for t in range(10):
        s = torch.randn(1, 4)
        p = F.softmax(net(s), dim=0)  # <- softmax-over-batch
        m = torch.distributions.Categorical(p)
        a = m.sample()
        logs.append(m.log_prob(a) * (1.0 if a.item() == int(s[0, 0] > 0) else -1.0))
    opt.zero_grad()
    loss = -torch.cat(logs).sum()
    loss.backward()
    opt.step()
print(loss.item(), net[0].weight.grad.abs().max().item())
