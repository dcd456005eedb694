import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--device", default="cuda:0")  # <- missing-device
args = parser.parse_args()

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(args.device)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x, y = torch.randn(64, 4), torch.randint(0, 2, (64,))
for epoch in range(args.epochs):
    for i in range(0, 64, 16):
        out = net(x[i:i + 16].to(args.device))
        loss = nn.functional.cross_entropy(out, y[i:i + 16].to(args.device))
        opt.zero_grad()
        loss.backward()
        opt.step()
