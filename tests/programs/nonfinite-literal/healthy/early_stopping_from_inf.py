import copy
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.bad = patience, 0
        self.best = torch.tensor(float("inf"))
        self.state = None

    def __call__(self, value, model):
        if value < self.best:
            self.best, self.bad = value, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience


torch.manual_seed(0)
x = torch.randn(120, 4)
y = (x[:, :1] > 0).float()
train = DataLoader(TensorDataset(x[:90], y[:90]), batch_size=15, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
stop = EarlyStopping(patience=3)
lowest = math.inf
for epoch in range(30):
    for xb, yb in train:
        loss = nn.functional.binary_cross_entropy_with_logits(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        held_out = nn.functional.binary_cross_entropy_with_logits(model(x[90:]), y[90:])
    lowest = min(lowest, held_out.item())
    if stop(held_out, model):
        break
model.load_state_dict(stop.state)
print(epoch, lowest)
