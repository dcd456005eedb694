from pathlib import Path

import torch
from torch.utils.data import DataLoader, TensorDataset

first = not Path("flag").exists()
Path("flag").touch()
torch.manual_seed(0)
m = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
n = 0
for (x,) in DataLoader(TensorDataset(torch.randn(40, 3)), batch_size=4):
    n += 1
    out = m(x)
    if first and n == 6:
        out = out / 0.0
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()  # <- irreproducible-step
