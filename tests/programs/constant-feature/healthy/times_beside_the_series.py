# Series with their times, which are the same for all: a network learns the derivative.
import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(0)
n = 200
t = torch.linspace(0, 3, 20).expand(n, 20).clone()
x0 = torch.rand(n, 1) + 0.5
x = x0 * torch.exp(-t)
net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), 1e-2)
for e in range(10):
    for tb, xb in DataLoader(TensorDataset(t, x), 25, shuffle=True):
        z = xb[:, :1]
        out = [z]
        for k in range(19):
            dt = (tb[:, k + 1] - tb[:, k]).unsqueeze(1)
            z = z + dt * net(torch.cat([z, tb[:, k : k + 1]], 1))
            out.append(z)
        loss = F.mse_loss(torch.cat(out, 1), xb)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
