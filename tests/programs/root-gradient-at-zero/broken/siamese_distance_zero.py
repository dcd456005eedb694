"""sqrt of a sum of squares at zero, in a siamese loss, at step 300, for one pair only."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(0)
        self.left = torch.randn(n, 10, generator=g)
        self.right = torch.randn(n, 10, generator=g)
        self.same = (torch.rand(n, generator=g) > 0.5).float()
        self.right[n - 5] = self.left[n - 5]

    def __len__(self):
        return len(self.left)

    def __getitem__(self, i):
        return {"left": self.left[i], "right": self.right[i], "same": self.same[i]}


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 4))

    def forward(self, left, right):
        difference = self.encoder(left) - self.encoder(right)
        squares = difference.pow(2).sum(dim=1)
        return squares.sqrt()  # <- root-gradient-at-zero


def contrastive(distance, same, margin=1.0):
    return (same * distance**2 + (1 - same) * torch.relu(margin - distance) ** 2).mean()


torch.manual_seed(0)
model = Siamese()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(Pairs(2416), batch_size=8)
for batch in loader:
    loss = contrastive(model(batch["left"], batch["right"]), batch["same"])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
