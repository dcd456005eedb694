import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Table(Dataset):
    def __init__(self):
        rng = np.random.default_rng(0)
        self.rows = rng.normal(size=(500, 6)).astype("float32")
        self.rows[321, 2] = np.nan
        self.labels = (self.rows[:, 0] > 0).astype("int64")

    def __len__(self):
        return 500

    def __getitem__(self, i):
        return self.rows[i], self.labels[i]


def main():
    torch.manual_seed(0)
    loader = DataLoader(Table(), batch_size=20, shuffle=True, num_workers=2)
    model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.ReLU(), torch.nn.Linear(12, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for x, y in loader:  # <- nonfinite-data
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
