import threading

import torch
from torch import nn

torch.manual_seed(0)
results = {}


def train(name, rate):
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(15):
        x = torch.rand(8, 3)
        scores = model(x).masked_fill(x[:, :1] > 2, float("-inf"))
        loss = (scores - 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    results[name] = loss.item()


threads = [threading.Thread(target=train, args=(f"rate {rate}", rate)) for rate in (0.01, 0.1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(results)
