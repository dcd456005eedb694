import torch
from torch.utils.data import DataLoader, Dataset


class Uneven(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.ones(3 if index != 5 else 4)


for batch in DataLoader(Uneven(), batch_size=4):
    batch.sum()
