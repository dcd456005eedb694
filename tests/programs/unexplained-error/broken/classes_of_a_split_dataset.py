import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split


class Flowers(Dataset):
    classes = ["daisy", "rose", "tulip"]

    def __init__(self):
        self.x = torch.randn(90, 8)
        self.y = torch.arange(90) % 3

    def __len__(self):
        return 90

    def __getitem__(self, i):
        return self.x[i], self.y[i]


torch.manual_seed(0)
train_set, test_set = random_split(Flowers(), [70, 20])
loader = DataLoader(train_set, batch_size=10, shuffle=True)
model = nn.Linear(8, len(train_set.classes))  # <- unexplained-error
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    opt.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    opt.step()
