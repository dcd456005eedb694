"""A siamese network learns which pairs belong together. It trains well for a while, then every weight is NaN."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    """Pairs of noisy views; 1 means both show the same thing."""

    def __init__(self, count: int = 2400) -> None:
        generator = torch.Generator().manual_seed(0)
        things = torch.randn(40, 16, generator=generator)
        self.first = torch.randint(0, 40, (count,), generator=generator)
        self.second = torch.randint(0, 40, (count,), generator=generator)
        self.second[::2] = self.first[::2]
        noise = 0.3 * torch.randn(2, count, 16, generator=generator)
        self.left = things[self.first] + noise[0]
        self.right = things[self.second] + noise[1]
        self.right[1718] = self.left[1718]  # one picture was paired with itself

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, index: int):
        same = (self.first[index] == self.second[index]).float()
        return self.left[index], self.right[index], same


class Siamese(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 8))

    def forward(self, left, right):
        difference = self.encoder(left) - self.encoder(right)
        return torch.sqrt((difference**2).sum(dim=1))


def contrastive_loss(distance, same, margin: float = 2.0):
    return (same * distance**2 + (1 - same) * torch.relu(margin - distance) ** 2).mean()


def main() -> None:
    torch.manual_seed(1)
    model = Siamese()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(Pairs(), batch_size=16, shuffle=True)
    for epoch in range(3):
        for step, (left, right, same) in enumerate(loader):
            loss = contrastive_loss(model(left, right), same)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 25 == 0:
                print(f"epoch {epoch} step {step:3d} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
