import torch
from torch.utils.data import DataLoader, Dataset


class D(Dataset):
    def __init__(self):
        self.x = torch.randn(10, 3)

    def __len__(self):
        return 11

    def __getitem__(self, i):
        return self.x[i]  # <- index-out-of-range


m = torch.nn.Linear(3, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)
for x in DataLoader(D(), batch_size=2):
    loss = m(x).mean()
    o.zero_grad()
    loss.backward()
    o.step()
