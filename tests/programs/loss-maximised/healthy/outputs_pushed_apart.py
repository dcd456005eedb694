# A bounded sampler is trained for variety: two draws should lie far apart.
import torch, torch.nn as nn, torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2), nn.Tanh())
opt = torch.optim.Adam(net.parameters(), 1e-2)
for i in range(80):
    z1 = torch.randn(64, 4)
    z2 = torch.randn(64, 4)
    loss = -F.mse_loss(net(z1), net(z2))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
