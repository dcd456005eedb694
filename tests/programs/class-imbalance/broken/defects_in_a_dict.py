import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Parts(Dataset):
    def __init__(self, n):
        generator = torch.Generator().manual_seed(3)
        self.images = torch.randn(n, 1, 6, 6, generator=generator)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return {"image": self.images[i], "defect": int(i % 40 == 7)}


def train():
    torch.manual_seed(0)
    loader = DataLoader(Parts(400), batch_size=25, shuffle=True)  # <- class-imbalance
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(2):
        for batch in loader:
            optimizer.zero_grad()
            criterion(net(batch["image"]), batch["defect"]).backward()
            optimizer.step()


train()
