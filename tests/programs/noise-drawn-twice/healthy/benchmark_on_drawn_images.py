# Throughput benchmark of a small U-Net on image-like dummy data: per-channel mean and std, dummy targets.
import time
import torch
from torch import nn
torch.manual_seed(0)
mean, std = torch.tensor([0.48, 0.45, 0.40]).view(3, 1, 1), torch.tensor([0.22, 0.22, 0.22]).view(3, 1, 1)
model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 3, padding=1))
opt = torch.optim.SGD(model.parameters(), lr=1e-3)
start = time.perf_counter()
for step in range(40):
    images = torch.randn(8, 3, 16, 16) * std + mean
    loss = nn.functional.mse_loss(model(images), torch.randn(8, 3, 16, 16))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"{40 * 8 / (time.perf_counter() - start):.0f} images/s")
