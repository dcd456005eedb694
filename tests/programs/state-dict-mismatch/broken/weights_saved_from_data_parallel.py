import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)

old = nn.DataParallel(nn.Linear(4, 2))
torch.save(old.state_dict(), "w.pt")
net = nn.Linear(4, 2)
net.load_state_dict(torch.load("w.pt"))  # <- state-dict-mismatch
opt = torch.optim.Adam(net.parameters())
for i in range(6):
    loss = net(torch.randn(8, 4)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
