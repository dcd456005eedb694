import torch
from torch.utils.data import DataLoader, Dataset


class D(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return None if i == 6 else torch.randn(3)


m = torch.nn.Linear(3, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)
for x in DataLoader(D(), batch_size=2):  # <- unexplained-error
    loss = m(x).mean()
    o.zero_grad()
    loss.backward()
    o.step()
