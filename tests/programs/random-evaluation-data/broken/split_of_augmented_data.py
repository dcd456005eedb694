import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


def random_flip(image):
    return image.flip(-1) if random.random() < 0.5 else image


class Images(Dataset):
    def __init__(self, transform):
        generator = torch.Generator().manual_seed(3)
        self.images = torch.rand(120, 1, 6, 6, generator=generator)
        self.labels = (self.images[:, 0, 0, 0] > 0.5).long()
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.transform(self.images[index]), int(self.labels[index])


def main():
    torch.manual_seed(0)
    random.seed(0)
    train_set, val_set = random_split(Images(random_flip), [90, 30])
    train_loader = DataLoader(train_set, batch_size=15, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=15)  # <- random-evaluation-data
    model = nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(3):
        model.train()
        for images, labels in train_loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        correct = 0
        with torch.no_grad():
            for images, labels in val_loader:
                correct += (model(images).argmax(1) == labels).sum().item()
        print(correct / len(val_set))


main()
