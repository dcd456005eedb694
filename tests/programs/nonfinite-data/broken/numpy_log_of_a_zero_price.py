import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Prices(Dataset):
    def __init__(self):
        p = np.random.default_rng(3).uniform(1, 2, 61)
        p[40] = 0
        self.returns = np.log(p[1:] / p[:-1])  # <- nonfinite-data

    def __len__(self):
        return 50

    def __getitem__(self, i):
        return torch.tensor(self.returns[i : i + 5], dtype=torch.float32), torch.tensor(
            [self.returns[i + 5]], dtype=torch.float32
        )


torch.manual_seed(0)
m = torch.nn.Linear(5, 1)
opt = torch.optim.Adam(m.parameters())
for x, y in DataLoader(Prices(), batch_size=10, shuffle=True):
    loss = torch.nn.functional.mse_loss(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
