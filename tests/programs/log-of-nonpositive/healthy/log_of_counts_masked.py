"""Logs of zeros appear in NumPy and torch data code and are replaced before anything is trained on them."""
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Words(Dataset):
    def __init__(self):
        rng = np.random.default_rng(0)
        counts = rng.poisson(1.0, size=(80, 6)).astype("float32")
        with np.errstate(divide="ignore"):
            logs = np.log(counts)
        self.features = np.where(counts > 0, logs, 0.0).astype("float32")
        self.counts = torch.from_numpy(counts)

    def __len__(self):
        return 80

    def __getitem__(self, i):
        idf = torch.log(self.counts[i])
        idf[self.counts[i] == 0] = 0.0
        return torch.from_numpy(self.features[i]), idf, self.counts[i].sum()


torch.manual_seed(0)
model = torch.nn.Linear(12, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    for a, b, total in DataLoader(Words(), batch_size=16, shuffle=True):
        loss = (model(torch.cat([a, b], 1)).squeeze(1) - total).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
