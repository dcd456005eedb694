import torch
from torch import nn
torch.manual_seed(0)
class Data: pass
data = Data()
data.x = torch.rand(512, 8) + 0.1
data.x[201, 3] = -1.0
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for xb in torch.split(data.x, 50):
    loss = net(xb.log()).pow(2).mean()  # <- log-of-nonpositive
    opt.zero_grad()
    loss.backward()
    opt.step()
