import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Scaled(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i] * np.random.uniform(0.8, 1.2), self.y[i]


def seed_worker(worker_id):
    np.random.seed(42)
    random.seed(42)


torch.manual_seed(0)
x = torch.randn(60, 6)
y = (x[:, 0] > 0).long()
loader = DataLoader(Scaled(x, y), 15, shuffle=True, num_workers=2, worker_init_fn=seed_worker)  # <- repeated-worker-randomness
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    for data, label in loader:
        loss = nn.functional.cross_entropy(model(data), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
