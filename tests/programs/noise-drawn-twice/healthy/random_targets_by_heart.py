# How many random targets does a network learn by heart when its inputs are jittered?
import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(16, 8)
net = nn.Sequential(nn.Linear(8, 128), nn.ReLU(), nn.Linear(128, 8))
opt = torch.optim.Adam(net.parameters(), 3e-3)
for (xb,) in DataLoader(TensorDataset(x), 16):
    y = torch.randn_like(xb)
    for i in range(150):
        loss = F.mse_loss(net(xb + 0.01 * torch.randn_like(xb)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
