import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler


class Points(Dataset):
    def __init__(self, n):
        generator = torch.Generator().manual_seed(1)
        self.x = torch.randn(n, 6, generator=generator)
        self.y = (self.x[:, 0] > 0).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"features": self.x[i], "target": self.y[i]}


class Balanced(Sampler):
    def __init__(self, labels):
        self.labels = labels

    def __iter__(self):
        first = {}
        for i, label in enumerate(self.labels.tolist()):
            first.setdefault(label, i)
        rows = list(first.values())
        for k in range(len(self.labels)):
            yield rows[k % len(rows)]

    def __len__(self):
        return len(self.labels)


def main():
    torch.manual_seed(0)
    points = Points(160)
    loader = DataLoader(points, batch_size=16, sampler=Balanced(points.y))  # <- narrow-sampling
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(3):
        for batch in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(batch["features"]), batch["target"])
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
