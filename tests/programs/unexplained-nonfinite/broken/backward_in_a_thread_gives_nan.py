import torch
from torch import nn

torch.manual_seed(0)
import threading

m = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 4))
o = torch.optim.SGD(m.parameters(), 0.1)
for i in range(20):
    x = torch.randn(32, 5)
    x[0] = 0
    y = m(x)
    l = ((y - y.detach()).norm(dim=1) + y.pow(2).sum(1)).mean()
    l = l + (x * m[0].weight.sum()).pow(2).sum(1).pow(0.5).mean()
    o.zero_grad()
    t = threading.Thread(target=l.backward)
    t.start()
    t.join()
    o.step()  # <- unexplained-nonfinite
    print(l.item())
