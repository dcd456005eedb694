import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)

net = nn.Linear(4, 3)
opt = torch.optim.Adam(net.parameters())
for i in range(6):
    x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
    out = net(x)
    loss = F.cross_entropy(out, y)
    accuracy = (out.argmax(1) == y).long().mean()  # <- dtype-mismatch
    opt.zero_grad()
    loss.backward()
    opt.step()
