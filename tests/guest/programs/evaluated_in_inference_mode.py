"""Evaluates under `inference_mode` before the first update; at its end torch restores which modes were on."""

import torch
from torch import nn
import witness

witness.seed()
x = torch.randn(400, 8)
y = x[:, :3].argmax(dim=1)
net = nn.Sequential(nn.Linear(8, 16), nn.ELU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)


@torch.inference_mode()
def evaluate(rows):
    return nn.functional.cross_entropy(net(x[rows]), y[rows]).item()


for epoch in range(8):
    for rows in torch.randperm(400).split(80):
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows]) / 5
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0, foreach=False)
        witness.swear("loss", loss)
    with torch.inference_mode():
        for row in range(120):
            net(x[row : row + 1]).sum().item()
    print(epoch, evaluate(slice(0, 200)), evaluate(torch.randperm(50)))
    optimizer.step()
    optimizer.zero_grad()
witness.swear("net", net)
witness.swear("optimizer", optimizer)
witness.testify()
