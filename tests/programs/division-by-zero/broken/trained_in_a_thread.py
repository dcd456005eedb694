import threading

import torch
from torch import nn


class Worker(threading.Thread):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.losses = []

    def run(self):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        for step in range(20):
            x = torch.rand(8, 4)
            if step == 13:
                x[3] = 0
            weights = x / x.sum(1, keepdim=True)  # <- division-by-zero
            loss = (self.model(weights) - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            self.losses.append(loss.item())


torch.manual_seed(0)
worker = Worker(nn.Linear(4, 1))
worker.start()
worker.join()
print(len(worker.losses), worker.losses[-1])
