"""NaN marks missing cells; the model gets them as 0 with a flag, and statistics leave them out."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(0)
table = rng.normal(3.0, 2.0, size=(100, 5)).astype("float32")
table[rng.random(table.shape) < 0.2] = np.nan
mean, deviation = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
x = torch.from_numpy((table - mean) / deviation)
y = torch.nanmean(x, dim=1)
y[rng.integers(0, 100, 5)] = float("nan")


class Imputing(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        missing = torch.isnan(x)
        return self.body(torch.cat([torch.nan_to_num(x), missing.float()], 1)).squeeze(1)


torch.manual_seed(0)
model = Imputing()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for a, b in DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True):
        known = ~torch.isnan(b)
        loss = (model(a)[known] - b[known]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
