import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
with torch.no_grad():
    for _ in range(60):
        print(nn.functional.cross_entropy(net(torch.randn(16, 4)), torch.randint(0, 3, (16,))).item())
