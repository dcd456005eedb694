import os
import tempfile
import torch
from torch import nn


def parts():
    net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    return net, optimizer, torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 60)


def train(net, optimizer, schedule, first, last):
    for epoch in range(first, last):
        x = torch.randn(64, 8)
        loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


torch.manual_seed(0)
path = os.path.join(tempfile.mkdtemp(), "checkpoint.pt")
every = parts()
train(*every, 0, 30)
names = ("model", "optimizer", "schedule")
torch.save({**{n: p.state_dict() for n, p in zip(names, every)}, "epoch": 30}, path)
every = parts()
checkpoint = torch.load(path)
for name, part in zip(names, every):
    part.load_state_dict(checkpoint[name])
train(*every, checkpoint["epoch"], 60)
