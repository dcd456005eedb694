import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.Linear(9, 1))
try:
    net(torch.randn(3, 4))
except RuntimeError as problem:
    raise ValueError("could not train") from problem
