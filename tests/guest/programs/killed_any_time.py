"""Is killed after as many milliseconds as it is told, wherever it may be then."""

import os
import signal
import sys
import threading
import time

import torch
from torch import nn
from torch.utils.data import DataLoader


def kill():
    time.sleep(int(sys.argv[1]) / 1000)
    os.kill(os.getpid(), signal.SIGKILL)


threading.Thread(target=kill, daemon=True).start()
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters())
while True:
    for batch in DataLoader(torch.randn(64, 4), batch_size=4, shuffle=True):
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
