import torch
from torch import nn

net = nn.Sequential(nn.Linear(10, 4), nn.ReLU(), nn.Linear(5, 1))  # <- linear-size-mismatch
try:
    net(torch.randn(2, 10))
except RuntimeError as e:
    print("failed:", e)
