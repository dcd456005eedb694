import gc
from collections import defaultdict

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    history = defaultdict(list)
    for epoch in range(4):
        for _ in range(15):
            x = torch.randn(16, 8)
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(x), x.mean(dim=1, keepdim=True))
            loss.backward()
            optimizer.step()
            history["loss"].append(loss)  # <- retained-graph
            history["step"].append(len(history["loss"]))
        gc.collect()
        print(epoch, history["loss"][-1].item())


main()
