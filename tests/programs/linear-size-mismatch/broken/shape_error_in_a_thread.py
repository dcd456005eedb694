import threading

import torch
from torch import nn

model = nn.Sequential(nn.Linear(7, 12), nn.ReLU(), nn.Linear(21, 3))  # <- linear-size-mismatch


def train():
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(4, 7)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


thread = threading.Thread(target=train)
thread.start()
thread.join()
