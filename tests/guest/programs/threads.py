import threading

import torch
from torch import nn
import witness


def train():
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        loss = model(torch.randn(5, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        witness.swear("loss", loss)
    witness.swear("model", model)


witness.seed()
thread = threading.Thread(target=train)
thread.start()
thread.join()
train()
witness.testify()
