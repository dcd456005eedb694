import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3)).astype("float32")
X[33, 1] = np.inf
torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.from_numpy(X), torch.zeros(40, 1)), batch_size=8)
m = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:  # <- nonfinite-data
        loss = (m(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
