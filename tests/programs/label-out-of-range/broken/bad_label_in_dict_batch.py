"""Batches are dicts; one row of the dataset has a label that is no class, many batches after the first."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 30

    def __getitem__(self, index):
        label = 6 if index == 25 else index % 3
        return {"x": torch.randn(5), "y": torch.tensor(label)}


model = nn.Linear(5, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in DataLoader(Rows(), batch_size=4):
    loss = nn.functional.cross_entropy(model(batch["x"]), batch["y"])  # <- label-out-of-range
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
