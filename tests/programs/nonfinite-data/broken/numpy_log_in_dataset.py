import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Counts(Dataset):
    def __init__(self):
        rng = np.random.default_rng(1)
        self.counts = rng.integers(1, 50, size=(120, 4)).astype("float32")
        self.counts[77, 1] = 0

    def __len__(self):
        return len(self.counts)

    def __getitem__(self, i):
        row = np.log(self.counts[i])  # <- nonfinite-data
        return torch.from_numpy(row), torch.tensor(row.sum())


def run():
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for x, y in DataLoader(Counts(), batch_size=8, num_workers=2):
        loss = (model(x).squeeze(1) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    run()
