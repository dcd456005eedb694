import io

import torch
from torch import nn

# The scheduler is made before the optimizer's state is loaded, and both are loaded.
torch.manual_seed(0)


def build():
    net = nn.Linear(8, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    return net, optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (1 + n))


def train(net, optimizer, scheduler, first, last):
    for epoch in range(first, last):
        for _ in range(8):
            x = torch.randn(64, 8)
            loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()


file = io.BytesIO()
parts = build()
train(*parts, 0, 6)
torch.save({"parts": [part.state_dict() for part in parts], "epoch": 6}, file)
file.seek(0)
state = torch.load(file)
parts = build()
for part, own in zip(parts, state["parts"], strict=True):
    part.load_state_dict(own)
train(*parts, state["epoch"], 12)
