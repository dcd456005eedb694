"""Gradients clipped to a norm of 1e-7."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for i in range(150):
    x = torch.randn(64, 10)
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1e-7)  # <- learning-rate-too-low
    opt.step()
    if i % 30 == 0:
        print(i, loss.item())
