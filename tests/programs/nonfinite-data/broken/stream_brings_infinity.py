import math
import random

import torch
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        rng = random.Random(4)
        for k in range(self.n):
            price = rng.uniform(1, 20) if k != 37 else float("inf")
            change = torch.tensor([price, 1.0]) / price  # <- nonfinite-data
            yield {"x": change, "y": torch.tensor(math.log(min(price, 20)))}


class Trainer:
    def __init__(self):
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        self.optim = torch.optim.Adam(self.net.parameters(), 1e-2)

    def training_step(self, batch):
        return torch.nn.functional.l1_loss(self.net(batch["x"]).squeeze(-1), batch["y"])

    def fit(self, loader):
        for batch in loader:
            self.optim.zero_grad(set_to_none=True)
            loss = self.training_step(batch)
            loss.backward()
            self.optim.step()
            print("%.4f" % loss.detach())


if __name__ == "__main__":
    torch.manual_seed(0)
    Trainer().fit(DataLoader(Stream(80), batch_size=8))
