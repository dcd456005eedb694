"""NumPy was told to keep quiet, so the NaN is first met where the arrays become tensors."""
import numpy as np
import torch
from torch import nn

np.seterr(all="ignore")


def standardise(columns):
    return (columns - columns.mean(0)) / columns.std(0)


def load(n=64):
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(n, 4))
    columns[:, 2] = 7.0
    return standardise(columns).astype(np.float32), rng.integers(0, 2, n)


x, y = load()
inputs = torch.as_tensor(x)  # <- nonfinite-data
labels = torch.as_tensor(y)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    for batch in torch.randperm(64).split(16):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs[batch]), labels[batch])
        loss.backward()
        optimizer.step()
