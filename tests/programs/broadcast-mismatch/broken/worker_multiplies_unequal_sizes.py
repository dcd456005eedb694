import torch
from torch.utils.data import DataLoader, Dataset


class D(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        x = torch.randn(3)
        w = torch.randn(3 if i != 7 else 4)
        return x * w  # <- broadcast-mismatch


if __name__ == "__main__":
    m = torch.nn.Linear(3, 1)
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    for x in DataLoader(D(), batch_size=2, num_workers=2):
        loss = m(x).mean()
        o.zero_grad()
        loss.backward()
        o.step()
