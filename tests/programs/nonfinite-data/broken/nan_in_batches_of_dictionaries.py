import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Table(Dataset):
    def __init__(self):
        self.rows = torch.randn(200, 6)
        self.rows[123, 2] = float("nan")

    def __len__(self):
        return 200

    def __getitem__(self, i):
        row = self.rows[i]
        return {"features": row[:5], "label": row[5:]}


torch.manual_seed(0)
m = nn.Linear(5, 1)
o = torch.optim.SGD(m.parameters(), lr=0.01)
for epoch in range(2):
    for batch in DataLoader(Table(), batch_size=16):  # <- nonfinite-data
        o.zero_grad()
        loss = nn.functional.l1_loss(m(batch["features"]), batch["label"])
        loss.backward()
        o.step()
