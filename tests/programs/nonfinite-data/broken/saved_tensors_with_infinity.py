import os

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
x = rng.normal(size=(48, 5)).astype(np.float32)
x[30, 4] = np.inf
np.save("features.npy", x)
del x


class Reader(torch.utils.data.Dataset):
    def __init__(self, path):
        self.memory = np.load(path, mmap_mode="r")

    def __len__(self):
        return len(self.memory)

    def __getitem__(self, i):
        row = np.array(self.memory[i])
        return row, np.int64(i % 3)


torch.manual_seed(0)
net = nn.Sequential(nn.BatchNorm1d(5), nn.Linear(5, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(Reader("features.npy"), batch_size=12)
for epoch in range(2):
    for rows, label in loader:  # <- nonfinite-data
        loss = nn.functional.cross_entropy(net(rows), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
os.remove("features.npy")
