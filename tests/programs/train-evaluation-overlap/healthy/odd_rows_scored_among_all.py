# An autoencoder learns normal rows, and then scores all rows to find the odd ones.
import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import *

torch.manual_seed(0)
normal = torch.randn(300, 2) @ torch.randn(2, 8)
odd = torch.randn(40, 8) * 2
train = DataLoader(TensorDataset(normal), 30, shuffle=True)
every = DataLoader(TensorDataset(torch.cat([normal, odd])), 50)
ae = nn.Sequential(nn.Linear(8, 4), nn.Tanh(), nn.Linear(4, 8))
opt = torch.optim.Adam(ae.parameters(), 1e-2)
for e in range(10):
    for (x,) in train:
        loss = F.mse_loss(ae(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
ae.eval()
with torch.no_grad():
    score = torch.cat([((ae(x) - x) ** 2).mean(1) for (x,) in every])
print("mean of normal, odd", score[:300].mean().item(), score[300:].mean().item())
