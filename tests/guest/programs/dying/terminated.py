import os
import signal

import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    if step == 3:
        print("now", flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
    loss = model(torch.randn(5, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
