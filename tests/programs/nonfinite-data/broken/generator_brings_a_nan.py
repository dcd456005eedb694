"""Batches from a generator over NumPy arrays, with accumulation; one block of the recording is NaN."""
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(1)
signal = rng.normal(size=(4000,)).astype(np.float32)
signal[2900:2903] = np.nan


def windows(length=20, count=8):
    for start in range(0, len(signal) - length * count, length * count):
        block = signal[start : start + length * count].reshape(count, length)
        yield torch.from_numpy(block)  # <- nonfinite-data


torch.manual_seed(0)
net = nn.GRU(1, 6, batch_first=True)
out = nn.Linear(6, 1)
optimizer = torch.optim.Adam([*net.parameters(), *out.parameters()], lr=1e-3)
for number, block in enumerate(windows(), start=1):
    states, _ = net(block[:, :-1, None])
    loss = (out(states[:, -1]).squeeze(1) - block[:, -1]).pow(2).mean() / 2
    loss.backward()
    if number % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()
